"""A closed pipe changes neither the files nor the exit status of a command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

TACIT = f"{sys.executable} -m tacit"
LINES = {  # the command, its status, and a file that it makes
    "limit data.npz --json out.json": (0, "out.json"),
    "reproduce woodworth2020/fig2 --out out": (0, "out/woodworth2020/fig2.json"),
    "reproduce list --json -": (0, None),
    "limit none.csv": (2, None),
}
WAYS = [">&-", "2>&-", "<&- >&- 2>&-", "| true", "2>&1 | true"]
# `main` treats the streams of all commands in the same way; these two take seconds: one daily case each.
DAILY = {"reproduce woodworth2020/fig2 --out out": "<&- >&- 2>&-", "reproduce list --json -": "| true"}
LEFT_OUT = [f"{way}-{line}" for line, daily in DAILY.items() for way in WAYS if way != daily]


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((5, 9))
    np.savez("data.npz", X=X, y=X[:, 0])


def shell(line):
    """Run by bash: the status of the first command of the pipe, and the output."""
    done = subprocess.run(
        ["bash", "-c", f"{line}; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.thorough_cases(*LEFT_OUT)
@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("way", WAYS)
def test_commands_finish_when_no_process_reads_their_output(line, way):
    status, made = LINES[line]
    # the first line already fails to be written
    unbuffered = "PYTHONUNBUFFERED=1 " if way == "| true" else ""
    found, out, err = shell(f"{unbuffered}{TACIT} {line} {way}")
    assert found == status
    assert made is None or Path(made).stat().st_size > 0
    assert "Traceback" not in err and "Error" not in err and "Exception" not in err
    if way == ">&-":
        assert (out, err.count("\n")) == ("", status // 2)


def test_a_reader_who_has_enough_does_not_end_the_work():
    """The output exceeds the buffer of a pipe whose reader has exited."""
    X = np.random.default_rng(0).standard_normal((5, 4000))
    np.savez("data.npz", X=X, y=X[:, 0])
    status, out, err = shell(f"{TACIT} limit data.npz --json - --plot limit.png | head -c 100")
    assert (status, len(out), err) == (0, 100, "")
    assert Path("limit.png").exists()


@pytest.mark.parametrize(("way", "status"), [(">/dev/full", 2), ("2>/dev/full", 0)])
def test_a_full_disk_is_told_where_it_can_be(way, status):
    found, _, err = shell(f"{TACIT} limit data.npz --json out.json {way}")
    assert (found, err) == (status, "tacit: No space left on device\n" if status else "")
    assert shell(f"{TACIT} limit none.csv {way}")[0] == 2


def test_a_file_does_not_get_the_number_of_a_closed_output():
    """Otherwise printed text would be written into the file."""
    code = (
        "import os, sys\nfrom tacit.cli.streams import tolerating_closed_streams\n"
        "with tolerating_closed_streams():\n"
        "    file = os.open('file', os.O_CREAT | os.O_WRONLY)\n"
        "    assert file > 2\n"
        "    os.write(1, b'lost'); print('lost', flush=True); assert sys.stdin.read() == ''\n"
    )
    Path("code.py").write_text(code)
    assert shell(f"{sys.executable} code.py <&- >&-") == (0, "", "")
    assert Path("file").read_bytes() == b""


def test_standard_output_is_what_it_was_afterwards(capfd):
    code = "import sys; from tacit.cli import main; before = sys.stdout, sys.stderr\n"
    code += "assert main(['limit', 'data.npz', '--json', '-']) == 0\n"
    code += "assert before == (sys.stdout, sys.stderr)\nprint('after')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    result, _, rest = done.stdout.rpartition("}\n")
    assert (done.returncode, done.stderr, rest) == (0, "", "after\n")
    assert json.loads(f"{result}}}")["converged"] is True
