"""tacit flow --model completion: empty cells of a matrix are filled in, and nothing else changes."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import tacit
from tacit.cli import main

RNG = np.random.default_rng(1)
TARGET = np.outer(RNG.standard_normal(6), RNG.standard_normal(5))
GAPS = np.where(RNG.random(TARGET.shape) < 0.75, TARGET, np.nan)
FRAME = pd.DataFrame(GAPS, index=[f"film {i}" for i in range(6)], columns=[f"user {j}" for j in range(5)])


@pytest.fixture
def flow(tmp_path, monkeypatch, capsys):
    """Run `tacit flow` in a fresh folder: exit status, standard output and error."""
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("films.csv")

    def command(line):
        try:
            status = main(["flow", *line.split()])
        except SystemExit as stop:
            status = stop.code
        return status, *capsys.readouterr()

    return command


def test_empty_cells_are_filled_by_the_flow(flow):
    status, out, err = flow(
        "films.csv --model completion --width 8 --scale 0.01 --seed 3 --save filled.csv --plot way.png"
    )
    assert (status, err) == (0, "tacit: assumed about films.csv: the first column has the row names\n")
    model = tacit.Factorization.gaussian((6, 5), 8, 0.01, seed=3)
    end = tacit.flow(model, *tacit.observed(GAPS)).predictor[-1]
    filled = pd.read_csv("filled.csv", index_col=0, dtype=str).astype(float)  # exact to the last bit
    assert filled.index.tolist() == FRAME.index.tolist() and filled.columns.tolist() == FRAME.columns.tolist()
    np.testing.assert_array_equal(filled.to_numpy(), np.where(np.isnan(GAPS), end, GAPS))
    np.testing.assert_allclose(filled.to_numpy(), TARGET, atol=0.05)
    with open("way.png", "rb") as picture:
        assert picture.read(4) == b"\x89PNG"
    for words in ("entries of a 6 × 5 matrix", "‖M‖_*", "filled.csv", "way.png"):
        assert words in out


def test_json_has_the_filled_matrix_and_its_names(flow):
    status, out, _ = flow("films.csv --model completion --width inf --scale 0.1 --at 3,9 --json -")
    found = json.loads(out)
    model = tacit.Factorization.gaussian((6, 5), np.inf, 0.1)
    run = tacit.flow(model, *tacit.observed(GAPS), at=[3, 9])
    assert (
        status == 0 and found["columns"] == FRAME.columns.tolist() and found["rows"] == FRAME.index.tolist()
    )
    np.testing.assert_allclose(found["filled"], np.where(np.isnan(GAPS), run.predictor[-1], GAPS), rtol=1e-12)
    np.testing.assert_allclose(found["predictor"], run.predictor, rtol=1e-12)


def test_the_trajectory_can_be_saved(flow):
    assert flow("films.csv --model completion --until 5 --save way.nc")[0] == 0
    with xr.open_dataset("way.nc", engine="scipy") as data:
        assert data["predictor"].dims == ("instant", "row", "column")


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("a,b\n1.50,2\n3,\n", "a,b\n1.50,2\n3,X\n"),
        ("a;b\n1,50;2\n3;NA\n", "a;b\n1,50;2\n3;X\n"),
        ("name,a,b\nu,1e0,2\nv,3,?\n", "name,a,b\nu,1e0,2\nv,3,X\n"),
        (",0,1\n0,1,2\n1,3,\n", ",0,1\n0,1,2\n1,3,X\n"),
    ],
)
def test_cells_that_are_known_stay_as_they_were_written(flow, text, filled):
    with open("m.csv", "w") as file:
        file.write(text)
    assert flow("m.csv --model completion --width 3 --scale 0.001 --save out.csv")[0] == 0
    with open("out.csv") as file:
        before, after = filled.split("X")
        content = file.read()
    assert content.startswith(before) and content.endswith(after)
    number = float(content[len(before) : len(content) - len(after)].replace(",", "."))
    decimals = 1.5 if "50" in text else 1.0
    assert number == pytest.approx(6 / decimals, rel=0.05)  # of rank 1


def test_nothing_of_the_user_is_overwritten(flow):
    with open("mine.csv", "w") as file:
        file.write("precious")
    for path in ("mine.csv", "films.csv"):
        status, _, err = flow(f"films.csv --model completion --save {path}")
        assert status == 2 and path in err
    with open("mine.csv") as file:
        assert file.read() == "precious"


@pytest.mark.parametrize(
    ("text", "flags", "message"),
    [
        ("a,b\n1,\n2,\n", "", "column 'b' has no observed entry"),
        ("n,a,b\nu,1,2\nv,,\n", "", "row 'v' has no observed entry"),
        ("a,b\n,\n,\n", "", "the matrix has no observed entries"),
        ("a,b\nnan,NaN\n", "", "the matrix has no observed entries"),
        ("a,b\n1,x\n2,3\n", "", "row '0', column 'b' is 'x', not a finite number"),
        ("a,b\n1,inf\n2,3\n", "", "is 'inf', not a finite number"),
        ("a,b\n", "", "no rows below the column names"),
        ("", "", "empty"),
        ("0.5,1.5\n1,2\n", "", "must have the column names"),
        ("a,b\n1,2\n", "--target b", "--target is not an option of --model completion"),
        ("a,b\n1,2\n", "--loss exp", "--loss exp is not an option of --model completion"),
        ("a,b\n1,2\n", "--intercept", "--intercept is not an option of --model completion"),
        ("a,b\n1,2\n", "--depth 3", "--depth is not an option of --model completion: it has two layers"),
        ("a,b\n1,2\n", "--save out.xlsx", "name its file .csv, .tsv or .txt, or .nc, not out.xlsx"),
        ("a,b\n1,2\n", "--width 2.5", "must be a whole number, or inf"),
        ("a,b\n1,2\n", "--scale 0", "scale must be positive"),
    ],
)
def test_bad_input_is_named(flow, text, flags, message):
    with open("m.csv", "w") as file:
        file.write(text)
    status, out, err = flow(f"m.csv --model completion {flags}")
    assert (status, out) == (2, "") and message in err and len(err.strip().splitlines()) <= 2


def test_other_kinds_of_files_are_refused(flow):
    np.savez("m.npz", X=GAPS)
    for path in ("m.npz", "nothing.csv"):
        status, _, err = flow(f"{path} --model completion")
        assert status == 2 and path in err


def test_large_matrices_stop_at_a_coarse_residual_and_say_so(flow, monkeypatch):
    monkeypatch.setattr("tacit.flows.forms.reduced._ROWS", 0)
    status, out, err = flow("films.csv --model completion --width 8 --scale 0.1")
    assert status == 0 and "relative residual of 0.001" in err and "relative residual = 0.001" in out
