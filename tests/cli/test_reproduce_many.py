"""Many figures: several processes make each figure once, and no process remains."""

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import xarray as xr

from tacit.cli import main
from tacit.papers import figures
from tacit.papers import reproduction as registry
from tacit.papers.completed import kept
from tacit.papers.workers import groups
from tacit.show.progress import Line

pytestmark = pytest.mark.any_cpu

ALL = ["absent", "after", "broken", "dead", "plain", "wrong"]
TERMINAL = """
import signal, sys, threading
import quick_figures, quick_figures_too
from tacit.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell takes from its jobs
sys.exit(main(["reproduce", "quick2031", "--jobs", "2", "--out", "out", "--json", "out.json"]))
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Run a command where the papers have the quick figures, too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry._FIGURES, "registered", dict(registry._FIGURES.registered))
    for name in ("quick_figures", "quick_figures_too"):
        monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.import_module(name)

    def command(line):
        status = main(line.split())
        return status, *capfd.readouterr()

    return command


def contents():
    return {path.stem: json.loads(path.read_text()) for path in Path("out/quick2031").glob("*.json")}


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_can_be_made_is_made_and_the_table_has_all(run, jobs, monkeypatch):
    if jobs == 1:  # it would end this process
        monkeypatch.delitem(registry._FIGURES.registered, "quick2031/dead")
    status, out, err = run(f"reproduce quick2031 --jobs {jobs} --out out")
    assert status == 1
    assert set(contents()) == {"plain", "after", "wrong"}
    table = {
        line.split()[0]: line for line in out.splitlines() if line.startswith("quick2031/") and "  " in line
    }
    named = [f"quick2031/{name}" for name in ALL if jobs == 2 or name != "dead"]
    assert list(table) == named
    assert re.fullmatch(r"\S+ +1 +- +\d+\.\d +new", table["quick2031/plain"])
    assert re.fullmatch(r"\S+ +0 +1 +\d+\.\d +new +FAILS", table["quick2031/wrong"])
    assert table["quick2031/absent"].endswith("skipped: no such data")
    assert table["quick2031/broken"].endswith("NOT MADE: ZeroDivisionError: a slip")
    assert "3 figures, 2 claims hold, 1 fail, 1 skipped" in out
    assert "tacit: quick2031/broken was not made: ZeroDivisionError: a slip" in err
    if jobs == 2:
        assert "the process that made it ended early (status 7)" in table["quick2031/dead"]
        made_by = {name: xr.load_dataset(f"out/quick2031/{name}.nc").attrs["process"] for name in contents()}
        assert made_by["plain"] == made_by["wrong"] != made_by["after"]  # a process for each module
        assert os.getpid() not in made_by.values()


def without_failures(monkeypatch):
    for name in ("absent", "broken", "dead", "wrong"):
        monkeypatch.delitem(registry._FIGURES.registered, f"quick2031/{name}")


def test_a_finished_figure_is_not_made_again(run, monkeypatch):
    without_failures(monkeypatch)
    line = "reproduce quick2031 --jobs 1 --out out"
    assert run(line)[0] == 0
    made = {path: path.stat().st_mtime_ns for path in Path("out").rglob("*.*")}
    assert len(made) == 8

    def again(flags=""):
        """The figures that were written again."""
        status, out, err = run(line + flags)
        assert (status, err) == (0, "")
        found = {path for path in made if path.stat().st_mtime_ns != made[path]}
        made.update({path: path.stat().st_mtime_ns for path in made})
        assert out.count("  kept") == 2 - len({path.stem for path in found})
        return {path.stem for path in found}

    assert again() == set()
    assert again(" --force") == {"plain", "after"}
    assert again(" --seed 1 --force") == {"plain", "after"}
    assert again(" --seed 1 --preset paper --force") == {"plain", "after"}
    assert again(" --force") == {"plain", "after"}
    with Path("out/quick2031/plain.png").open("ab") as picture:
        picture.write(b"\0")
    assert again() == {"plain"}
    Path("out/quick2031/plain.nc").unlink()
    assert again() == {"plain"}
    monkeypatch.setitem(figures("quick2031/after")[0].presets["quick"], "points", 2)
    assert again() == {"after"}
    mark = "made by Tacit [reproduce quick2031/after --preset quick --seed 0]"
    Path("out/quick2031/after.json").write_text(f'{{"made_by": "{mark}", "figure": ["cut')
    assert again() == {"after"}
    monkeypatch.setattr("tacit.papers.completed.made_with", lambda key: {"tacit": "9.9"})
    assert again() == {"plain", "after"}


def test_a_single_figure_is_kept_as_well_and_the_output_says_so(run):
    line = "reproduce quick2031/plain --out out"
    status, new, err = run(line)
    assert (status, err) == (0, "") and "kept" not in new
    files = {path: path.stat().st_mtime_ns for path in Path("out").rglob("*.*")}
    status, kept, err = run(line)
    assert (status, err) == (0, "")
    assert kept == f"{new}  kept: made earlier by the same software; --force makes it again\n"
    assert files == {path: path.stat().st_mtime_ns for path in Path("out").rglob("*.*")}
    (figure,) = json.loads(run(f"{line} --json -")[1])["figures"]
    assert figure["from_before"] is True and figure["holds"] is True
    assert run(f"{line} --force")[1].count("kept") == 0
    assert all(path.stat().st_mtime_ns > before for path, before in files.items())


@pytest.mark.parametrize("selection", ["quick2031", "quick2031/plain"])
@pytest.mark.parametrize("flags", ["--preset quick", "--preset paper --seed 4"])
def test_another_preset_or_seed_is_not_replaced_without_force(run, monkeypatch, selection, flags):
    without_failures(monkeypatch)
    line = f"reproduce {selection} --jobs 1 --out out"
    assert run(f"{line} --preset paper")[0] == 0
    before = {path: path.read_bytes() for path in Path("out").rglob("*.*")}
    status, out, err = run(f"{line} {flags}")
    assert (status, out) == (2, "") and err.count("\n") == 1
    assert "--preset paper --seed 0', and" in err
    assert "--force" in err and "--out" in err
    assert before == {path: path.read_bytes() for path in Path("out").rglob("*.*")}
    assert run(f"{line} {flags} --force")[0] == 0
    assert all(path.read_bytes() != content for path, content in before.items())


def test_a_folder_with_everything_needs_no_right_to_write(run, monkeypatch):
    without_failures(monkeypatch)
    line = "reproduce quick2031 --jobs 1 --out out"
    run(line)
    # used to test whether a folder is writable
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: 1 / 0)
    status, out, err = run(line)
    assert (status, err) == (0, "") and out.count("  kept") == 2


def damaged(content, path, value):
    """A copy in which the value at the path is replaced or removed."""
    copy = json.loads(json.dumps(content))
    place = copy
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return copy


def test_an_incomplete_json_is_no_finished_figure(run, monkeypatch):
    without_failures(monkeypatch)
    (entry,) = figures("quick2031/plain")
    run("reproduce quick2031/plain --out out")
    file = Path("out/quick2031/plain.json")
    content = json.loads(file.read_text())
    assert kept(entry, "out")["claims"] == content["claims"]
    names = set(content) - {"made_by", "files"}
    claim = set(content["claims"][0])
    places = [(name,) for name in names] + [("claims", 0, name) for name in claim]
    places += [("sha256", kind) for kind in ("png", "pdf", "nc")]
    for place in places:
        for value in (None, [[]], {}, "odd"):
            changed = damaged(content, place, value)
            if place == ("caption",) and value == "odd":
                continue  # any text is valid
            if place[-1] in ("text", "threshold", "preset") and value == "odd":
                continue
            if place in (("parameters",), ("made_with",)) and value == {}:
                continue
            file.write_text(json.dumps(changed))
            assert kept(entry, "out") is None, (place, value)
    for odd in (None, 3, [], "words", {}, {"figure": "quick2031/plain"}):
        file.write_text(json.dumps(odd))
        assert kept(entry, "out") is None
    file.write_text(json.dumps(damaged(content, ("claims",), None)))
    assert run("reproduce quick2031 --jobs 1 --out out")[0] == 0
    assert kept(entry, "out")["claims"] == content["claims"]


def test_json_has_those_from_before_too_and_their_verdicts_count(run, monkeypatch):
    for name in ("absent", "broken", "dead", "after"):
        monkeypatch.delitem(registry._FIGURES.registered, f"quick2031/{name}")
    for before in (False, True):
        status, out, err = run("reproduce quick2031 --jobs 1 --out out --json -")
        content = json.loads(out)
        assert (status, err, content["holds"]) == (1, "", False)
        assert [(each["figure"], each["holds"]) for each in content["figures"]] == [
            ("quick2031/plain", True),
            ("quick2031/wrong", False),
        ]
        assert all(each["from_before"] is before for each in content["figures"])


def alive(process):
    """Whether the process is running and not a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.every(2)
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_an_interrupted_run_leaves_no_process_and_no_incomplete_file(tmp_path, sent, status):
    support = Path(importlib.import_module("oracles").__file__).parent
    paths = os.pathsep.join([str(support), *filter(None, sys.path)])
    environment = os.environ | {"QUICK_FIGURES": str(tmp_path), "PYTHONPATH": paths}
    running = subprocess.Popen(
        [sys.executable, "-c", TERMINAL],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    busy = []
    for _ in range(1200):
        busy = [int(path.name) for path in tmp_path.iterdir() if path.name.isdecimal()]
        if len(busy) == 2 or running.poll() is not None:
            break
        time.sleep(0.05)
    assert len(busy) == 2 and all(map(alive, busy))
    running.send_signal(sent)
    _, err = running.communicate(timeout=120)
    assert running.returncode == status
    assert err == (b"tacit: interrupted\n" if sent == signal.SIGINT else b"")
    for _ in range(600):
        if not any(map(alive, busy)):
            break
        time.sleep(0.05)
    assert not any(map(alive, busy))
    left = {path.name for path in tmp_path.rglob("*.*") if path.is_file()}
    assert left <= {f"plain.{kind}" for kind in ("png", "pdf", "nc", "json")}


def test_figures_of_a_module_stay_together_and_long_ones_come_first():
    entries = figures("woodworth2020")
    took = {"woodworth2020/fig2": 50.0, "woodworth2020/fig7": 70.0, "woodworth2020/fig6b": 100.0}
    found = groups(entries, lambda entry: took.get(entry.key, 0.001))
    keys = [[entry.key.partition("/")[2] for entry in group] for group in found]
    assert keys[:3] == [["fig6a", "fig6b"], ["fig7"], ["fig2", "fig3a", "fig3b", "fig3c"]]
    assert sorted(name for group in keys for name in group) == sorted(
        entry.key.partition("/")[2] for entry in entries
    )


def test_figures_that_take_long_say_so():
    seconds = {entry.key: entry.seconds for entry in figures()}
    assert seconds["woodworth2020/fig6a"] > 10 > seconds["woodworth2020/fig2"] > 0


def test_progress_is_for_terminals_only_and_gives_way(monkeypatch, capfd):
    with Line() as line:
        line.show("nothing")
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "20")
    with Line() as line:
        line.show("3 of 40 figures are made")
        line.clear()
        line.clear()
    assert capfd.readouterr().err == "\r\x1b[2K3 of 40 figures ar…\r\x1b[2K"


@pytest.mark.parametrize("jobs", ["0", "-1", "x", "1.5"])
def test_jobs_are_a_positive_number(jobs, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "all", "--jobs", jobs])
    assert stop.value.code == 2 and "1 or more" in capsys.readouterr().err
