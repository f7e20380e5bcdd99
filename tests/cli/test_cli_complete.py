"""tacit complete: names are kept, files of others are not replaced, and what is printed is what was done."""

import json

import numpy as np
import pytest

from tacit.cli import main
from tacit.estimators import FlowImputer

MATRIX = ",a,b,c\nx,1,2,\ny,2,4,6\nz,3,,9\nu,4,8,12\nv,,10,15\n"
VALUES = np.array([[1, 2, np.nan], [2, 4, 6], [3, np.nan, 9], [4, 8, 12], [np.nan, 10, 15]])


@pytest.fixture
def matrix(tmp_path):
    path = tmp_path / "matrix.csv"
    path.write_text(MATRIX)
    return path


def test_it_fills_the_gaps_of_a_matrix_of_rank_one(matrix, tmp_path, capsys):
    saved, picture = tmp_path / "filled.csv", tmp_path / "path.png"
    assert main(["complete", str(matrix), "--no-effects", "--save", str(saved), "--plot", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "column means" in out and "rows + columns" in out and "accuracy" in out and picture.stat().st_size
    lines = [line.split(",") for line in saved.read_text().splitlines()]
    assert lines[0] == ["", "a", "b", "c"] and [line[0] for line in lines[1:]] == ["x", "y", "z", "u", "v"]
    filled = np.array([line[1:] for line in lines[1:]], dtype=float)
    np.testing.assert_allclose(filled, np.outer([1, 2, 3, 4, 5], [1, 2, 3]), rtol=1e-3)
    assert main(["complete", str(matrix), "--save", str(saved)]) == 2
    assert "exists" in capsys.readouterr().err


def test_json_has_the_fit_of_the_imputer(matrix, capsys):
    assert main(["complete", str(matrix), "--scale", "0.01", "--width", "2", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["columns"] == ["a", "b", "c"] and found["scale"] == 0.01 and found["held_out"] == 1
    assert min(found["path"]["error"]) == found["error"]
    assert FlowImputer(scale=0.01, width=2).fit_transform(VALUES).shape == np.shape(found["filled"])


def test_a_row_without_cells_is_filled_with_a_warning(tmp_path, capsys):
    path = tmp_path / "matrix.csv"
    path.write_text(MATRIX + "w,,,\n")
    assert main(["complete", str(path), "--json", "-"]) == 0
    out, err = capsys.readouterr()
    assert "no observed value in row w" in err
    assert np.isfinite(json.loads(out)["filled"]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--scale", "-1"], "positive"), (["--save", "x.nc"], "writes text"), (["--width", "0"], "1 or more")],
)
def test_bad_options_are_named(matrix, capsys, options, message):
    try:
        status = main(["complete", str(matrix), *options])
    except SystemExit as end:
        status = end.code
    assert status == 2 and message in capsys.readouterr().err
