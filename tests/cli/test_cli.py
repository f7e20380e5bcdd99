"""The command line: the numbers of the library, one line for an error, and the promised exit status."""

import json
import os
import pty
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from oracles import gaussian_problem

import tacit
from tacit.cli import main
from tacit.papers import figures

pytestmark = pytest.mark.any_cpu

X, Y = gaussian_problem(8, 30, nonzero=2, seed=0)
NAMES = [f"gene {i}" for i in range(30)]
MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF-", "svg": b"<?xml"}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in a fresh folder with data in genes.csv: exit status, standard output and error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)  # as in a pipe, without wrapping
    pd.DataFrame(X, columns=NAMES).assign(response=Y).to_csv("genes.csv", index=False)

    def command(line, *arguments):
        try:
            status = main([*line.split(), *arguments])
        except SystemExit as stop:
            status = stop.code
        return status, *capsys.readouterr()

    return command


@pytest.fixture
def limit(run):
    return lambda flags="": run(f"limit genes.csv --target response {flags}")


def strict_json(text):
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def refused(outcome, *words, status=2):
    assert outcome[:2] == (status, "")
    err = outcome[2]
    assert err.startswith("tacit: ")
    assert err.index("\n") == len(err) - 1
    for word in words:
        assert word in err


def test_limit_prints_data_model_limit_regime_and_certificate(limit):
    status, out, err = limit("--scale 1e-3")
    assert (status, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == [
        "data",
        "model",
        "limit",
        "features",
        "regime",
        "certificate",
        "computed",
        "elapsed",
    ]
    for part in ("8 samples × 30 features, rank 8", "Diagonal(depth=2, scale=0.001)", "stationarity"):
        assert part in out


MODELS = {
    "": tacit.Diagonal(),
    "--model diagonal --depth 2 --scale 1e-3": tacit.Diagonal(2, 1e-3),
    "--depth 3 --scale 0.05": tacit.Diagonal(3, 0.05),
    "--depth 2.5 --scale 0.05": tacit.Diagonal(2.5, 0.05),
    "--depth 3 --scale 0": tacit.Diagonal(3, 0),
    "--log-scale -690": tacit.Diagonal(2, log_scale=-690),
    "--depth 4 --log-scale=-690": tacit.Diagonal(4, log_scale=-690),
    "--log-scale -6.9e2": tacit.Diagonal(2, log_scale=-690),
    "--model untied --scale 1e-4 --shape 0.9": tacit.UntiedDiagonal(1e-4, 0.9),
    "--model untied --scale 1e-4 --shape -0.9": tacit.UntiedDiagonal(1e-4, -0.9),
    "--model untied --layers 0.1,0.2,-0.3": tacit.UntiedDiagonal.from_layers([0.1, 0.2, -0.3]),
    "--model untied --scale 1e-4 --shape -1e-3": tacit.UntiedDiagonal(1e-4, -1e-3),
}


@pytest.mark.parametrize("flags", MODELS)
def test_json_has_the_numbers_of_the_library_in_a_file_and_alone_on_standard_output(limit, flags):
    expected = tacit.limit(MODELS[flags], X, Y)
    assert limit(f"{flags} --json result.json")[::2] == (0, "")
    status, out, err = limit(f"{flags} --json -")
    assert (status, err) == (0, "")
    saved, printed = strict_json(Path("result.json").read_text(encoding="utf-8")), strict_json(out)
    assert saved | {"seconds": 0} == printed | {"seconds": 0}
    np.testing.assert_allclose(saved["predictor"], expected.predictor, rtol=1e-9)
    np.testing.assert_allclose(saved["dual"], expected.dual, rtol=1e-9)
    assert saved["value"] == pytest.approx(expected.value, rel=1e-9)
    assert saved["converged"] is expected.converged is True
    assert saved["regime"]["name"] == expected.regime.name
    assert (saved["features"], saved["target"]) == (NAMES, "response")


@pytest.mark.every(4)
@pytest.mark.pictures
@pytest.mark.parametrize("kind", MAGIC)
def test_plot_writes_a_figure_and_writes_it_again(limit, kind):
    Path("new/folder").mkdir(parents=True)
    for _ in range(2):
        status, out, err = limit(f"--scale 0.1 --plot new/folder/limit.{kind}")
        assert (status, err) == (0, "")
        assert f"new/folder/limit.{kind}" in out
        assert Path(f"new/folder/limit.{kind}").read_bytes().startswith(MAGIC[kind])


@pytest.mark.parametrize("name", ["$x_", "身高", "x" * 200])
def test_awkward_column_names_do_not_disturb_a_figure(run, name):
    pd.DataFrame({name: [1.0], "b": [2.0], "response": [3.0]}).to_csv("odd.csv", index=False)
    assert run("limit odd.csv --target response --plot odd.png")[::2] == (0, "")
    assert Path("odd.png").read_bytes().startswith(MAGIC["png"])


def test_with_json_on_standard_output_nothing_else_is_printed_anywhere(limit):
    status, out, err = limit("--json - --plot limit.png")
    assert (status, err) == (0, "")
    assert strict_json(out)["converged"] is True
    assert Path("limit.png").read_bytes().startswith(MAGIC["png"])


def test_a_limit_that_did_not_converge_is_status_1_says_so_and_is_still_json(limit, monkeypatch):
    found = replace(tacit.limit(tacit.Diagonal(), X, Y), settled=False, stationarity=np.nan)
    monkeypatch.setattr("tacit.verbs.limit.limit", lambda *arguments, **options: found)
    status, out, err = limit()
    assert (status, err) == (1, "")
    assert "NOT CONVERGED" in out
    status, out, err = limit("--json -")
    assert (status, err) == (1, "")
    assert strict_json(out)["converged"] is False


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (tacit.InputError("one\n  two"), 2),
        (tacit.InconsistentDataError("one two"), 2),
        (tacit.NoPotentialError("one two"), 2),
        (tacit.NotConvergedError("one two"), 1),
        (PermissionError(13, "one two"), 2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_failure_is_one_line_unless_debug_is_asked_for(limit, monkeypatch, error, status):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr("tacit.verbs.limit.limit", fail)
    refused(limit(), "one two", status=status)
    with pytest.raises(type(error)):
        limit("--debug")


BAD = {
    "--scale=-1": "scale must be 0 or positive",
    "--scale 1e-400": "log-scale",
    "--scale": "--scale",
    "--depth 1": "depth must be at least 2",
    "--depth nan": "depth must be finite",
    "--depth inf": "depth must be finite",
    "--depth 1e30": "depth",
    "--shape 0.5": "--shape is not an option of --model diagonal: its layers are tied",
    "--scale 0.1 --log-scale -3": "not both",
    "--model untied --layers 0.1": "must give the sizes of two or more layers",
    "--model untied --layers 0.1,x": "must be numbers separated by commas",
    "--model untied --layers 0.1,0.2,0.3 --scale 2": "leave out --scale and --shape",
    "--layers 0.1,0.2,0.3": "its layers are tied",
    "--model untied --shape 1": "shape must lie strictly between -1 and 1",
    "--model deep": "'deep'",
    "--tol 0": "tol must lie between 0 and 1",
    "--bogus": "unrecognized arguments: --bogus (try 'tacit limit --help')",
    "--dep 3": "--dep",
    "--log-scale -inf": "finite",
    "--target nope": "'nope'",
    "--plot no/such/limit.png": "cannot write no/such/limit.png: there is no folder no/such; make it first",
    "--json no/limit.json": "no folder no; make it first",
    "--plot limit.jpg": ".png, .pdf or .svg",
    "--json .": "folder",
    "--json genes.csv/result.json": "genes.csv",
    "--json same.png --plot same.png": "same.png",
    "--json same.png --plot ./new/../same.png": "same.png",
    "--json /dev/null": "device",
    "--plot /dev/null": ".png, .pdf or .svg",
    f"--json {'x' * 300}": "xxx",
    "--json /proc/result.json": "/proc/result.json",
    "--plot /proc/limit.png": "/proc/limit.png",
}


@pytest.mark.parametrize("flags", BAD)
def test_bad_flags_are_refused_in_one_line_before_anything_is_printed(limit, flags):
    refused(limit(flags), BAD[flags])


@pytest.mark.parametrize("flag", ["--json", "--plot"])
def test_neither_the_data_nor_files_of_others_are_overwritten(limit, flag):
    data, mine = Path("genes.csv"), Path("mine.png")
    Path("link.csv").symlink_to(data)
    Path("hard.csv").hardlink_to(data)
    mine.write_text("a thesis")
    before = data.read_bytes()
    for path in (data, data.absolute(), "link.csv", "hard.csv"):
        refused(limit(f"{flag} {path}"), "is the data file")
    refused(limit(f"{flag} {mine}"), "was not written by Tacit")
    assert mine.read_text() == "a thesis"
    assert data.read_bytes() == before


def test_a_file_is_ours_only_where_its_mark_and_kind_are(limit):
    limit("--json ours.json --plot ours.png")
    theirs = {
        "quote.json": '{"note": "made by Tacit"}',
        "half.json": '{\n  "made_by": "made',
    }
    for name, text in theirs.items():
        Path(name).write_text(text)
        refused(limit(f"--json {name}"), f"{name} exists and was not written by Tacit")
        assert Path(name).read_text() == text
    refused(limit("--json ours.png"), "was not written by Tacit as JSON")
    Path("renamed.png").write_bytes(Path("ours.json").read_bytes())
    refused(limit("--plot renamed.png"), "was not written by Tacit as PNG")
    os.mkfifo("pipe.json")
    refused(limit("--json pipe.json"), "pipe")
    refused(limit("--json new.json --plot limit.jpg"))
    assert not Path("new.json").exists()


def test_what_another_command_wrote_is_not_replaced(run):
    """Scores do not replace the model of the same fit, and one picture does not replace another."""
    fit = "fit genes.csv --target response --scale 0.1"
    limit, flow = (f"{verb} genes.csv --target response" for verb in ("limit", "flow"))
    assert run(f"{fit} --save model.json --json fit.json --plot fit.svg")[0] == 0
    assert run(f"{limit} --json limit.json --plot limit.pdf")[0] == 0
    assert run(f"{flow} --save flow.nc --plot flow.png")[0] == 0
    files = {path: path.read_bytes() for path in Path().iterdir()}
    for line, there, here in (
        (f"{limit} --json model.json", "fit --save", "limit"),
        (f"{limit} --json fit.json", "fit", "limit"),
        (f"{fit} --save fit.json", "fit", "fit --save"),
        (f"{fit} --json model.json", "fit --save", "fit"),
        (f"{flow} --json limit.json", "limit", "flow"),
        (f"{flow} --plot limit.pdf", "limit", "flow"),
        (f"{limit} --plot flow.png", "flow", "limit"),
        (f"{limit} --plot fit.svg", "fit", "limit"),
    ):
        refused(
            run(line), f"was written by Tacit as {there!r}, and {here!r} would replace it", "choose another"
        )
    assert files == {path: path.read_bytes() for path in Path().iterdir()}
    assert run(f"{flow} --save flow.nc")[0] == 0
    assert run(f"{fit} --save model.json")[0] == 0
    old = json.loads(Path("limit.json").read_text()) | {"made_by": "made by Tacit"}
    Path("old.json").write_text(json.dumps(old))
    assert run(f"{limit} --json old.json")[0] == 0  # early versions wrote marks without the kind of result


def test_an_empty_file_may_be_replaced(limit):
    """Empty files, as made by mktemp or left by a full disk, may be replaced."""
    Path("empty.json").touch()
    assert limit("--json empty.json")[0] == 0
    assert strict_json(Path("empty.json").read_text(encoding="utf-8"))["converged"] is True


def test_a_write_that_fails_leaves_what_was_there_and_nothing_else(limit, monkeypatch):
    limit("--json result.json")
    before = Path("result.json").read_bytes()

    def full(self, content):
        with self.open("wb") as file:
            file.write(content[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    status, _, err = limit("--scale 0.1 --json result.json")
    assert (status, err) == (2, "tacit: cannot write result.json (No space left on device)\n")
    assert Path("result.json").read_bytes() == before
    assert sorted(path.name for path in Path().iterdir()) == ["genes.csv", "result.json"]


def test_a_link_stays_a_link_to_the_file_that_is_written(limit):
    Path("link.json").symlink_to("result.json")
    for _ in range(2):
        assert limit("--json link.json")[0] == 0
    assert Path("link.json").is_symlink()
    assert strict_json(Path("result.json").read_text(encoding="utf-8"))["converged"] is True


def test_without_a_command_there_is_help(run):
    status, out, err = run("")
    assert (status, err) == (0, "") and "tacit limit" not in err and "commands:" in out


LACKING = [
    "nope",
    "limit",
    "limit none.csv",
    "limit genes.csv",
    "limit .",
    "demo --seed -1",
    "demo --seed x",
]


@pytest.mark.parametrize("line", LACKING)
def test_commands_that_lack_something_are_refused_in_one_line(run, line):
    refused(run(line))


def test_one_is_singular(run):
    Path("one.csv").write_text("a,b,response\n1,0,2\n")
    assert "1 sample × 2 features" in run("limit one.csv --target response")[1]


def test_debug_may_stand_before_the_command(run):
    with pytest.raises(tacit.InputError):
        run("--debug limit none.csv")


def test_an_unexpected_exception_is_reported_in_one_line(limit, monkeypatch):
    monkeypatch.setattr("tacit.verbs.limit.limit", lambda *arguments, **options: 1 / 0)
    refused(limit(), "ZeroDivisionError", status=1)


@pytest.mark.parametrize("name", ["limit", "reproduce", "demo"])
def test_help_shows_an_example(run, name):
    status, out, err = run(f"{name} --help")
    assert (status, err) == (0, "")
    assert f"\n  tacit {name}" in out
    assert run("--help")[0] == 0


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_reproduce_lists_the_figures_under_their_papers(run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    lines, keys = run("reproduce list")[1].splitlines(), [entry.key for entry in figures()]
    assert [line.split()[0] for line in lines if re.match(r"  [a-z]+\d*/", line)] == keys
    assert max(map(len, lines)) <= columns
    headings = [line for line in lines if line[:1].strip() and "et al. 20" in line]
    assert [line.split()[0] for line in headings] == ["Woodworth", "Moroshko", "Azulay", "Min"]
    if columns == 200:  # the whole first sentence
        assert any(line.endswith("(0.6, 0.8)") and "azulay2021/fig7.2" in line for line in lines)
    assert [entry["figure"] for entry in strict_json(run("reproduce --json -")[1])["figures"]] == keys


@pytest.mark.parametrize("columns", [40, 80])
def test_verdicts_on_figures_fit_the_terminal(run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    status, out, _ = run("reproduce woodworth2020/fig2 --out a")
    assert status == 0 and max(map(len, out.splitlines())) <= columns
    content = strict_json(Path("a/woodworth2020/fig2.json").read_text(encoding="utf-8"))
    joined = " ".join(out.split())
    assert content["caption"] in joined
    assert all(f"holds {claim['text']}: " in joined for claim in content["claims"])


@pytest.mark.parametrize("command", ["limit", "flow", "fit --scale 0.1"])
def test_results_fit_the_terminal(run, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "60")
    verb, *flags = command.split()
    status, out, _ = run(f"{verb} genes.csv --target response {' '.join(flags)}")
    assert status == 0 and max(map(len, out.splitlines())) <= 60
    monkeypatch.delenv("COLUMNS")
    whole = run(f"{verb} genes.csv --target response {' '.join(flags)}")[1]
    assert max(map(len, whole.splitlines())) > 60


def test_lines_are_whole_in_a_pipe(run, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    lines = run("reproduce list")[1].splitlines()
    for entry in figures():
        assert [line.split(maxsplit=1)[1] for line in lines if line.split()[:1] == [entry.key]] == [
            entry.title
        ]
    assert max(map(len, lines)) > 100 and not any("…" in line for line in lines)


def test_reproduce_makes_its_folder_and_no_other(run):
    refused(run("reproduce woodworth2020/fig2 --out a --json no/claims.json"), "no folder no; make it first")
    assert not Path("a").exists()
    assert run("reproduce woodworth2020/fig2 --out a/b")[0] == 0
    assert Path("a/b/woodworth2020/fig2.png").read_bytes().startswith(MAGIC["png"])
    assert [path.name for path in Path("a").iterdir()] == ["b"]


def test_reproduce_names_the_nearest_figures_when_one_is_unknown(run):
    refused(run("reproduce woodworth2020/fig9"), "did you mean", "woodworth2020/fig8", "tacit reproduce list")
    refused(run("reproduce fig1a"), "did you mean woodworth2020/fig1a")
    refused(run("reproduce woodworth2020/fig2 --seed -1"), "--seed")


def test_the_seed_decides_the_claims(run, monkeypatch):
    (entry,) = figures("woodworth2020/fig1b")
    monkeypatch.setitem(entry.presets, "quick", {"samples": 10, "features": 30, "scales": 9})
    claims = []
    for seed, folder in ((0, "a"), (0, "b"), (1, "c")):
        status, out, err = run(f"reproduce woodworth2020/fig1b --json - --seed {seed} --out {folder}")
        (made,) = strict_json(out)["figures"]
        assert (status, err) == (int(not made["holds"]), "")
        claims.append(made["claims"])
    assert claims[0] == claims[1] != claims[2]


@pytest.mark.every(2)
@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_as_a_program_it_exits_with_its_status_whatever_the_terminal_can_show(run, encoding):
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    for line, status in (("limit genes.csv --target response", 0), ("limit none.csv", 2)):
        command = [sys.executable, "-m", "tacit", *line.split()]
        done = subprocess.run(command, env=environment, capture_output=True, encoding=encoding)
        assert (done.returncode, done.stderr.count("\n")) == (status, status // 2)


def test_json_on_a_terminal_without_the_letters_still_has_the_names(run):
    Path("odd.csv").write_text("身高,response\n1,2\n", encoding="utf-8")
    command = [sys.executable, "-m", "tacit", "limit", "odd.csv", "--target", "response", "--json", "-"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, env=environment, capture_output=True)
    assert strict_json(done.stdout)["features"] == ["身高"]


@pytest.mark.every(2)
@pytest.mark.parametrize("line", ["limit genes.csv --target response", "reproduce", "--help"])
def test_output_that_cannot_be_written_is_one_line(run, line):
    command = [sys.executable, "-m", "tacit", *line.split()]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "tacit: No space left on device\n")


def test_at_a_terminal_progress_stays_out_of_standard_output(run):
    """Standard error is a terminal here, standard output is not."""
    outer, inner = pty.openpty()
    command = [sys.executable, "-m", "tacit", "reproduce", "woodworth2020/fig3a", "--json", "-"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=inner, text=True)
    os.close(inner)
    os.close(outer)
    assert done.returncode == 0
    assert strict_json(done.stdout)["holds"] is True


@pytest.mark.parametrize("name", ["untied", "UntiedDiagonal", "untied-diagonal"])
def test_a_model_may_be_called_as_its_class_is(name, run):
    status, out, _ = run(f"limit genes.csv --target response --model {name} --scale 0.1 --shape 0.5 --json -")
    assert status == 0
    assert json.loads(out)["model"] == "UntiedDiagonal(scale=0.1, shape=0.5)"


@pytest.mark.every(2)
@pytest.mark.pictures
@pytest.mark.parametrize("model", ["--depth 2", "--depth 3.5", "--model untied --shape 0.9"])
def test_every_model_has_a_picture(model, run):
    status, _, err = run(f"limit genes.csv --target response {model} --scale 0.01 --plot limit.png")
    assert (status, err) == (0, "")
    assert Path("limit.png").read_bytes().startswith(MAGIC["png"])


@pytest.mark.parametrize("start", ["orthogonal", "balanced"])
def test_linear_networks_from_starts_that_have_a_limit(run, start):
    status, out, err = run(
        f"limit genes.csv --target response --model linear --width 60 --start {start} --json -"
    )
    assert (status, err) == (0, "")
    w = np.array(strict_json(out)["predictor"]).ravel()
    np.testing.assert_allclose(X @ w, Y, rtol=1e-9, atol=1e-9)
    least = np.linalg.pinv(X) @ Y
    assert (np.linalg.norm(w - least) < 1e-9 * np.linalg.norm(least)) == (start == "orthogonal")


def test_a_random_neuron_does_not_point_along_data_of_the_same_seed(run):
    drawn = np.random.default_rng(0).standard_normal((4, 9))
    np.savez("drawn.npz", X=drawn, y=drawn[:, 0])
    out = run("limit drawn.npz --model neuron --scale 0.5 --json -")[1]
    assert strict_json(out)["regime"]["distance_to_rich"] > 1e-3


def test_commands_take_few_threads_unless_told_otherwise():
    """NumPy reads the number when it is loaded, so nothing changes afterwards."""
    code = "import os, sys, tacit.cli; print(os.environ['OPENBLAS_NUM_THREADS'], 'numpy' in sys.modules)"
    plain = {name: value for name, value in os.environ.items() if not name.endswith("NUM_THREADS")}
    for given, expected in (
        ({}, str(max(1, min(4, os.cpu_count() // 2)))),
        ({"OPENBLAS_NUM_THREADS": "7"}, "7"),
    ):
        out = subprocess.run(
            [sys.executable, "-c", code], env={**plain, **given}, capture_output=True, text=True, check=True
        )
        assert out.stdout.split() == [expected, "False"]
    code = "import os, numpy, tacit.cli; assert 'OPENBLAS_NUM_THREADS' not in os.environ"
    subprocess.run([sys.executable, "-c", code], env=plain, check=True)


def test_the_saddle_path_is_that_of_the_library(run):
    command = "path genes.csv --target response --saddle"
    status, out, err = run(f"{command} --depth 3 --scale 1e-4 --intercept --json s.json")
    assert (status, err) == (0, "")
    assert "limit of the flow as the scale vanishes, depth 3" in out
    assert "the first jump at time" in out
    content = strict_json(Path("s.json").read_text())
    found = tacit.saddle_path(X, Y, depth=3, intercept=True)
    np.testing.assert_allclose(content["times"], found.times, rtol=1e-9)
    np.testing.assert_allclose(content["predictors"], found.predictors, atol=1e-9)
    np.testing.assert_allclose(content["training_times"], found.time(tacit.Diagonal(3, 1e-4)), rtol=1e-9)
    assert run(f"{command} --plot s.png")[0] == 0
    assert Path("s.png").read_bytes().startswith(MAGIC["png"])
    refused(run(f"{command} --mu 1,2"), "leave out --mu and --sweeping")
    refused(run(f"{command} --scale 2"), "must be below 1")
