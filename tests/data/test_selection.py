"""Columns chosen by name, pattern, range and position."""

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.data.selection import Selection
from tacit.data.tables import counts_rows, is_identifier, read_table

pytestmark = pytest.mark.any_cpu

NAMES = ["id", "nm_900", "nm_902", "7", "a:b", "nm_904", "y"]


@pytest.mark.parametrize(
    ("drop", "index", "features", "kept"),
    [
        (("nm_902",), None, (), [0, 1, 3, 4, 5, 6]),
        (("nm_*",), None, (), [0, 3, 4, 6]),
        (("nm_90?",), "id", (), [3, 4, 6]),
        (("nm_902:nm_904",), None, (), [0, 1, 6]),
        (("nm_904:nm_902",), None, (), [0, 1, 6]),  # in either order
        (("2:3",), None, (), [0, 3, 4, 5, 6]),  # positions, counted from 1
        (("7",), None, (), [0, 1, 2, 4, 5, 6]),  # a name comes before a position
        (("1",), None, (), [1, 2, 3, 4, 5, 6]),
        (("a:b",), None, (), [0, 1, 2, 3, 5, 6]),  # a name comes before a range
        (("7:a:b",), None, (), [0, 1, 2, 5, 6]),  # a range whose end contains a colon
        ((), None, ("nm_900:nm_902", "nm_904"), [1, 2, 5]),
        (("nm_902",), "1", ("nm_*",), [1, 5]),
    ],
)
def test_columns_are_chosen(drop, index, features, kept):
    assert Selection(drop, index, features).kept(NAMES, "d.csv") == kept


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        (Selection(drop=("nm_903",)), r"--drop 'nm_903' is not a column of d.csv, which has 'nm_90"),
        (Selection(features=("x*",)), r"--features 'x\*' is not a column"),
        (Selection(index="nm_*"), r"--index 'nm_\*' stands for 3 columns"),
        (Selection(drop=("0",)), "--drop '0' is not a column"),
        (Selection(drop=("8",)), "--drop '8' is not a column"),
    ],
)
def test_columns_that_are_not_there_are_named(selection, words):
    with pytest.raises(tacit.InputError, match=words):
        selection.kept(NAMES, "d.csv")


FRAME = pd.DataFrame(
    {
        "": range(5),
        "name": list("abcde"),
        "u": [1.5, 2, 3, 4, 7],
        "v": [0, 1, 0, 1, 1],
        "v.1": [3, 1, 4, 1, 5],
        "y": [2, 7, 1, 8, 2],
    }
)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "xlsx"])
def test_every_kind_of_file_gives_the_chosen_columns(tmp_path, suffix):
    path = tmp_path / f"d.{suffix}"
    write = {"csv": "to_csv", "tsv": "to_csv", "parquet": "to_parquet", "xlsx": "to_excel"}[suffix]
    getattr(FRAME, write)(path, index=False, **({"sep": "\t"} if suffix == "tsv" else {}))
    table = read_table(path, "y", selection=Selection(drop=("1", "v"), index="name"))
    assert table.features == ("u", "v.1") and table.samples == tuple("abcde")
    assert table.X.tolist() == FRAME[["u", "v.1"]].to_numpy(float).tolist()
    assert table.y.tolist() == FRAME["y"].tolist()
    after = read_table(path, "u", selection=Selection(drop=("1",), index="name", features=("v:y",)))
    assert after.features == ("v", "v.1", "y") and after.y.tolist() == FRAME["u"].tolist()


def test_columns_of_arrays_are_chosen_by_number(tmp_path):
    X = np.arange(12.0).reshape(3, 4)
    np.savez(tmp_path / "d.npz", X=X, y=np.ones(3))
    table = read_table(tmp_path / "d.npz", selection=Selection(drop=("x1",)))
    assert table.features == ("x0", "x2", "x3") and table.X.tolist() == X[:, [0, 2, 3]].tolist()


@pytest.mark.parametrize(
    ("target", "selection", "words"),
    [
        ("y", Selection(drop=("1",)), "column 'name', row 1 is 'a', not a number; .*--index name"),
        ("y", Selection(drop=("1", "2:5")), "no features; --drop, --index or --features leave out all"),
        ("u", Selection(drop=("1", "u")), "--target 'u' is also given as --drop or --index"),
        ("y", Selection(), "column 1, '', looks like a row index; leave it out with --index 1"),
    ],
)
def test_what_cannot_be_read_says_which_option_helps(tmp_path, target, selection, words):
    FRAME.to_csv(tmp_path / "d.csv", index=False)
    with pytest.raises(tacit.InputError, match=words):
        read_table(tmp_path / "d.csv", target, selection=selection)


def test_several_columns_of_text_are_named_together(tmp_path):
    FRAME.iloc[:, 1:].assign(sex=list("mfmfm")).to_csv(tmp_path / "d.csv", index=False)
    with pytest.raises(
        tacit.InputError, match="leave out the 2 columns with such entries with --drop name sex"
    ):
        read_table(tmp_path / "d.csv", "y")


def test_a_table_without_a_header_is_called_that(tmp_path):
    (tmp_path / "d.csv").write_text("1,2,3\n4,5,6\n")
    for target in ("y", None):
        with pytest.raises(tacit.InputError, match="seems to have no header"):
            read_table(tmp_path / "d.csv", target)
    assert read_table(tmp_path / "d.csv", "3").features == ("1", "2")  # spectra may have such names


@pytest.mark.parametrize(
    ("column", "found"),
    [
        (["s1", "s2", "s3", "s4"], True),
        (["m", "f", "m", "f"], False),
        (["1", "2", "3", None], False),
        (["s1", "s2", "s3"], False),  # three different texts are no evidence
    ],
)
def test_names_of_samples_are_recognized(column, found):
    assert is_identifier(np.array(column, dtype=object)) is found


def test_columns_that_count_the_samples_are_recognized():
    count = np.arange(6.0)
    columns = [count, count + 1, count[::-1], 2 * count, count + 2, np.array([0.0, 2, 1, 3, 4, 5])]
    assert counts_rows(np.column_stack(columns)).tolist() == [True, True, False, False, False, False]
    assert not counts_rows(count[:3, None]).any()  # three samples in sequence are no evidence
