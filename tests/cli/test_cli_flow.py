"""tacit flow: the numbers of the library, files that can be read back, and the promised exit status."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from oracles import gaussian_problem

import tacit
from tacit.cli import main
from tacit.models.linear import as_generator

X, Y = gaussian_problem(8, 30, nonzero=2, seed=0)
LABELS = np.sign(Y).astype(int)


@pytest.fixture
def flow(tmp_path, monkeypatch, capsys):
    """Run `tacit flow` in a fresh folder: exit status, standard output and error."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(X).add_prefix("gene ").assign(response=Y).to_csv("genes.csv", index=False)
    pd.DataFrame(X).add_prefix("gene ").assign(label=LABELS).to_csv("cells.csv", index=False)

    def command(line):
        try:
            status = main(["flow", *line.split()])
        except SystemExit as stop:
            status = stop.code
        return status, *capsys.readouterr()

    return command


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("flags", "model"),
    [
        ("--scale 1e-2", tacit.Diagonal(scale=1e-2)),
        ("--depth 3 --log-scale -1", tacit.Diagonal(depth=3, log_scale=-1)),
        ("--model untied --scale 0.1 --shape -0.5", tacit.UntiedDiagonal(0.1, -0.5)),
        (
            "--model linear --width 12 --std 0.2 --seed 5",
            tacit.LinearNetwork.gaussian(30, 12, std=0.2, seed=5),
        ),
        (
            "--model neuron --scale 2 --shape 0.1 --sign -1 --slope 0.5 --seed 3",
            tacit.Neuron.from_scale(2, 0.1, as_generator(3).standard_normal(30), -1, 0.5),
        ),
    ],
)
def test_json_has_the_numbers_of_the_library(flow, flags, model):
    status, out, err = flow(f"genes.csv --target response {flags} --at 3,9,14 --json -")
    assert (status, err) == (0, "")
    found, run = json.loads(out), tacit.flow(model, X, Y, at=[3, 9, 14])
    assert found["accuracy"] == [3, 9, 14] and found["converged"] and found["target"] == "response"
    # Arrays at other memory addresses may be rounded differently, and flows agree to their tolerance of 1e-8
    # only.
    predictors = (np.squeeze(w) for w in (found["predictor"], run.predictor))
    np.testing.assert_allclose(*predictors, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found["time"], run.time, rtol=1e-7)


def test_classification_prints_margins_and_writes_everything(flow):
    line = "cells.csv --target label --loss exp --until 1e4 --scale 2 --save f.nc --plot f.svg --json f.json"
    for _ in range(2):  # the second time over its own output
        status, out, err = flow(line)
        assert (status, err) == (0, "")
    for word in ("exponential loss", "10000", "10^-4342.94", "smallest margin", "conserved", "f.nc", "f.svg"):
        assert word in out
    with xr.open_dataset("f.nc", engine="scipy") as data:
        assert data.accuracy[-1] == 1e4 and data.predictor.shape[1] == 30
    assert json.loads(Path("f.json").read_text())["accuracy"][-1] == 1e4


@pytest.mark.parametrize("flags", ["--linearized", "--method parameters", "--method descent --step 0.02"])
def test_other_ways_to_run_it(flow, flags):
    status, out, _ = flow(f"genes.csv --target response --until 9 {flags}")
    assert status == 0 and "relative residual" in out


def test_a_flow_that_stalls_is_status_1_and_says_why(flow):
    status, out, err = flow("genes.csv --target response --until 500")
    assert (status, err) == (1, "") and "NOT CONVERGED" in out and "round-off" in out


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("genes.csv --target response --loss exp", "labels −1 and +1"),
        ("cells.csv --target label --loss exp --until -3", "starts at 0"),
        ("cells.csv --target label --loss exp --at 5,2", "increasing"),
        ("cells.csv --target label --loss exp --at 5,x", "numbers separated by commas"),
        ("cells.csv --target label --loss hinge", "invalid choice"),
        ("cells.csv --target label --until nan", "finite"),
        ("cells.csv --target label --rtol 2", "rtol must lie between"),
        ("cells.csv --target label --step 0.1", "step is for the methods"),
        ("cells.csv --target label --method descent --step -1", "step must be positive"),
        ("cells.csv --target label --model linear --scale 2", "--scale is not an option of --model linear"),
        ("cells.csv --target label --width 3", "--width is not an option of --model diagonal"),
        ("cells.csv --target label --model linear --width 0", "width"),
        ("cells.csv --target label --save out.csv", "--save writes netCDF"),
        ("cells.csv --target label --json cells.csv", "is the data file"),
        ("cells.csv --target label --plot cells.txt", ".png, .pdf or .svg"),
    ],
)
def test_bad_input_is_one_line_and_status_2(flow, line, word):
    status, out, err = flow(line)
    assert (status, out) == (2, "")
    assert err.startswith("tacit: ") and err.count("\n") == 1 and word in err


def test_data_that_cannot_be_separated_are_refused_with_the_samples_that_contradict(flow):
    pd.DataFrame({"a": [1.0, 2.0, -1.0, 3.0], "b": [0.5, 1, -0.5, 2], "y": [1, 1, 1, -1]}).to_csv(
        "no.csv", index=False
    )
    status, out, err = flow("no.csv --target y --loss exp")
    assert (status, out) == (2, "") and "samples 0, 2 contradict" in err


def test_ctrl_c_prints_what_was_computed(tmp_path):
    """The signal comes in the twentieth step of the flow."""
    big, target = gaussian_problem(60, 900, seed=0)
    np.savez(tmp_path / "big.npz", X=big, y=target)
    program = (
        "import itertools, signal, sys\n"
        "from tacit.cli import main\n"
        "from tacit.flows.steps.stepper import Controlled\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "step, count = Controlled.step, itertools.count(1)\n"
        "def counted(*args):\n"
        "    if next(count) == 20:\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "    return step(*args)\n"
        "Controlled.step = counted\n"
        "sys.exit(main('flow big.npz --depth 4 --scale 1e-3 --save part.nc'.split()))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, timeout=120)
    assert done.returncode == 130, done.stderr
    assert b"interrupted" in done.stdout
    with xr.open_dataset(tmp_path / "part.nc", engine="scipy") as data:
        assert data.attrs["reason"] == "interrupted" and data.attrs["steps"] == 19
        assert data.time.size > 1 and (np.diff(data.time) > 0).all()


def test_an_interrupted_flow_leaves_an_earlier_one_alone(flow, monkeypatch):
    line = "cells.csv --target label --loss exp --until 5 --json run.json --save run.nc --plot run.png"
    assert flow(line)[0] == 0
    before = {name: Path(name).read_bytes() for name in ("run.json", "run.nc", "run.png")}
    finished = tacit.flow

    def interrupted(*arguments, **options):
        run = finished(*arguments, **options)
        raise tacit.Interrupted(replace(run, converged=False, reason="interrupted"))

    monkeypatch.setattr("tacit.verbs.flow.flow", interrupted)
    status, _, err = flow(line)
    assert (
        status == 130 and "run.json is kept; the interrupted flow is written to run-interrupted.json" in err
    )
    assert {name: Path(name).read_bytes() for name in before} == before
    assert json.loads(Path("run-interrupted.json").read_text())["reason"] == "interrupted"
    assert flow(line.replace("run.", "new."))[0] == 130 and json.loads(Path("new.json").read_text())


@pytest.mark.pictures
def test_names_with_mathematics_are_drawn_as_they_stand(flow):
    names = [f"$\\bad_{i}$" for i in range(X.shape[1])]
    pd.DataFrame(X, columns=names).assign(response=Y).to_csv("odd.csv", index=False)
    assert flow("odd.csv --target response --plot odd.png")[::2] == (0, "")
    assert Path("odd.png").read_bytes().startswith(b"\x89PNG")
    drawn = tacit.flow(tacit.Diagonal(), X, Y, until=3.0).plot(names=names)
    legends = [axes.get_legend() for axes in drawn.axes if axes.get_legend() is not None]
    shown = {text.get_text().replace("\\$", "$") for legend in legends for text in legend.get_texts()}
    assert len(shown & set(names)) > 2


def test_until_beyond_at_is_recorded_too(flow):
    status, out, _ = flow("cells.csv --target label --loss exp --at 1,2 --until 5 --json -")
    assert status == 0 and json.loads(out)["accuracy"] == pytest.approx([1, 2, 5])


def test_times_are_met_exactly_and_may_be_a_range(flow):
    status, out, _ = flow("genes.csv --target response --scale 0.5 --times 0,0.1,2 --json -")
    run = tacit.flow(tacit.Diagonal(scale=0.5), X, Y, times=[0, 0.1, 2])
    found = json.loads(out)
    assert status == 0 and found["time"] == [0, 0.1, 2]
    np.testing.assert_allclose(found["predictor"], run.predictor, rtol=1e-6, atol=1e-9)
    status, out, _ = flow("cells.csv --target label --scale 0.5 --loss exp --times 0.01:100:5 --json -")
    np.testing.assert_allclose(json.loads(out)["time"], [0.01, 0.1, 1, 10, 100], rtol=1e-12)
    for wrong in (
        "--times 1,a",
        "--times 1:2",
        "--times 2,1",
        "--times 1,2 --until 9",
        "--times 1:2:1000000000",
    ):
        status, _, err = flow(f"genes.csv --target response {wrong}")
        assert status == 2 and len(err.splitlines()) == 1


def test_data_that_cannot_be_fitted_end_at_least_squares(flow, tmp_path):
    rng = np.random.default_rng(1)
    few, y = rng.standard_normal((20, 2)), rng.standard_normal(20)
    np.savez("tall.npz", X=few, y=y)
    status, out, err = flow("tall.npz --scale 0.5 --plot tall.png")
    assert (status, err) == (0, "") and "cannot be fitted" in out
    assert (tmp_path / "tall.png").read_bytes().startswith(b"\x89PNG")
    status, out, _ = flow("tall.npz --scale 0.5 --json -")
    found = json.loads(out)
    np.testing.assert_allclose(found["predictor"][-1], np.linalg.lstsq(few, y, rcond=None)[0], atol=1e-8)
    assert found["converged"] and found["unfitted"] > 0.5
    status, out, _ = flow("tall.npz --scale 0.5 --until 50")
    assert status == 1 and "is impossible" in out


@pytest.mark.parametrize("step", ["0.5", "1", "1e9"])
def test_descent_that_diverges_says_so_without_warnings(tmp_path, step, capsys):
    X = np.random.default_rng(0).standard_normal((12, 30))
    np.savez(tmp_path / "data.npz", X=X, y=X[:, 0] - X[:, 3])
    line = ["flow", str(tmp_path / "data.npz"), "--method", "descent", "--step", step]
    assert main([*line, "--json", str(tmp_path / "flow.json"), "--plot", str(tmp_path / "flow.png")]) == 1
    out, err = capsys.readouterr()
    assert err == "" and f"the weights diverged: the step {float(step):g} is too large" in out
    assert json.loads((tmp_path / "flow.json").read_text())["converged"] is False
