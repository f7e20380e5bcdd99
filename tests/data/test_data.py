"""Data files: numbers are read exactly, and errors are a single readable line."""

import gc
import json
import os
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import tacit
from tacit.data.tables import read_table
from tacit.show.output_files import netcdf_file, write_json

pytestmark = pytest.mark.any_cpu

NAMES = ("height", "weight", "größe, cm", "x 4")
FRAME = pd.DataFrame(np.random.default_rng(0).standard_normal((5, 4)) * 1e3, columns=NAMES)
FRAME["response"] = [1.0, -2.5, 3e-300, 4e300, 1 / 3]


@pytest.fixture(autouse=True, scope="module")
def _what_others_left_is_not_looked_through():
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _every_file_is_closed(_what_others_left_is_not_looked_through):
    yield
    gc.collect()  # an open file is a ResourceWarning, which fails the test


def write(frame, path):
    match path.suffix.lower():
        case ".csv":
            frame.to_csv(path, index=False)
        case ".tsv":
            frame.to_csv(path, index=False, sep="\t")
        case ".parquet" | ".pq":
            frame.to_parquet(path)
        case ".npz":
            np.savez(path, X=frame.drop(columns="response").to_numpy(), y=frame["response"].to_numpy())
    return path


def refused(match, path, target="response"):
    with pytest.raises(tacit.InputError, match=match) as caught:
        read_table(path, target)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message.replace(str(path), path.name)) < 220
    assert "pickle" not in message


@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.parquet", "d.pq", "D.CSV", "d.TSV", "d.Parquet"])
def test_a_table_comes_back_with_its_numbers_and_names(tmp_path, name):
    table = read_table(write(FRAME, tmp_path / name), "response")
    np.testing.assert_array_equal(table.X, FRAME[list(NAMES)])
    np.testing.assert_array_equal(table.y, FRAME["response"])
    assert (table.features, table.target) == (NAMES, "response")
    assert table.X.dtype == table.y.dtype == np.float64


def telling_floats():
    """Floats that are hard to parse: random bits, 17 digits, extremes of the range, half-way cases."""
    bits = np.random.default_rng(11).integers(0, 2**64, 4000, dtype=np.uint64).view(np.float64)
    long = np.random.default_rng(12).uniform(1, 10, 2000) * 10.0 ** np.repeat(np.arange(-10, 10), 100)
    ends = [5e-324, 2.2250738585072011e-308, 2.2250738585072014e-308, 1.7976931348623157e308]
    known = [8.988465674311582e307, 1.448997445238699, 0.1 + 0.2, 4.35, 0.000035689, 2.2204460492503131e-16]
    return np.concatenate([bits[np.isfinite(bits)], long, ends, known, [-0.0]])


@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.txt", "quoted.csv", "texts.parquet", "d.parquet"])
def test_every_float_comes_back_to_its_last_bit(tmp_path, name):
    """The text is Python's shortest representation, which Python parses exactly."""
    values, path = telling_floats(), tmp_path / name
    texts = [repr(float(v)) for v in values]
    if path.suffix == ".parquet":
        pd.DataFrame({"a": texts if "texts" in name else values, "response": values}).to_parquet(path)
    else:
        between, quote = {".csv": ",", ".tsv": "\t", ".txt": ";"}[path.suffix], '"' * ("quoted" in name)
        lines = (f"{quote}{text}{quote}{between}{text}\n" for text in texts)
        path.write_text(f"a{between}response\n{''.join(lines)}")
    table = read_table(path, "response")
    assert table.X[:, 0].tobytes() == table.y.tobytes() == values.tobytes()


def test_json_and_netcdf_hold_every_float_to_its_last_bit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = telling_floats()
    write_json({"values": values}, "v.json", "test")
    assert np.array(json.loads(Path("v.json").read_text())["values"]).tobytes() == values.tobytes()
    run = tacit.flow(tacit.Diagonal(2, 0.3), FRAME.iloc[:2, :4] / 1e3, [1 / 3, -0.7], until=5)
    Path("v.nc").write_bytes(netcdf_file(run.to_xarray(), "test"))
    write_json(run.to_dict(), "run.json", "test")
    text = json.loads(Path("run.json").read_text())
    with xr.open_dataset("v.nc", engine="scipy") as data:
        for name in ("predictor", "accuracy", "time"):
            expected = getattr(run, name).tobytes()
            assert data[name].values.astype("=f8").tobytes() == np.array(text[name]).tobytes() == expected


def test_numbers_with_more_digits_than_a_float_has_are_rounded_once(tmp_path):
    """Decimals close to the midpoint between two floats, which only exact arithmetic rounds correctly."""
    path, rng = tmp_path / "d.csv", np.random.default_rng(13)
    with localcontext(prec=60):
        halves = [Decimal(float(low)) + Decimal(float(np.spacing(low))) / 2 for low in rng.uniform(1, 2, 200)]
        texts = [str(near) for half in halves for near in (half.next_minus(), half.next_plus())]
    path.write_text("a,response\n" + "".join(f"{text},0\n" for text in texts))
    assert read_table(path, "response").X[:, 0].tolist() == [float(Fraction(text)) for text in texts]


@pytest.mark.parametrize(
    ("header", "between"),
    [
        ("the height,response", ", "),
        ("the height;response", ";"),
        ("the height\tresponse", "\t"),
        ("the height|response", "|"),
        ("height response", " "),
        ("height   response ", "  "),
    ],
)
def test_text_files_say_themselves_what_stands_between_fields(tmp_path, header, between):
    lines = [header, f"1.5{between}2", f"3{between}4", ""]
    (tmp_path / "d.txt").write_text("\n".join(lines), encoding="utf-8-sig")
    table = read_table(tmp_path / "d.txt", "response")
    np.testing.assert_array_equal(np.column_stack([table.X, table.y]), [[1.5, 2], [3, 4]])
    assert table.features[0].endswith("height") and len(table.features) == 1


@pytest.mark.parametrize("as_path", [str, lambda path: path])
def test_arrays_come_back_with_their_numbers(tmp_path, as_path):
    table = read_table(as_path(write(FRAME, tmp_path / "d.npz")))
    np.testing.assert_array_equal(table.X, FRAME[list(NAMES)])
    np.testing.assert_array_equal(table.y, FRAME["response"])
    assert len(table.features) == 4
    assert table.target == "y"


def test_the_target_may_stand_anywhere_and_integers_and_truths_are_numbers(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("a,response,b\n1,2,True\n3,4,False\n")
    table = read_table(path, "response")
    np.testing.assert_array_equal(table.X, [[1, 1], [3, 0]])
    np.testing.assert_array_equal(table.y, [2, 4])
    assert table.features == ("a", "b")


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes("response,a\r\n1,2\r\n".encode("utf-8-sig"))
    np.testing.assert_array_equal(read_table(path, "response").X, [[2]])


BAD_FILES = {
    "text as parquet": (
        "d.parquet",
        b"height,response\n1,2\n" * 10,
        "d.parquet is not a readable PARQUET file",
    ),
    "text as npz": ("d.npz", b"height,response\n1,2\n", "d.npz is not a readable NPZ file"),
    "zip as npz": ("d.npz", b"PK\x03\x04" + bytes(100), "d.npz is not a readable NPZ file"),
    "junk as csv": ("d.csv", bytes(range(256)) * 8, "d.csv is not a readable CSV file"),
    "junk as tsv": ("d.tsv", bytes(range(256)) * 8, "d.tsv is not a readable TSV file"),
    "junk as parquet": ("d.parquet", bytes(range(256)) * 8, "d.parquet is not a readable PARQUET file"),
    "junk as npz": ("d.npz", bytes(range(256)) * 8, "d.npz is not a readable NPZ file"),
    "zeros as csv": ("d.csv", bytes(64), "d.csv"),
    "latin-1 as csv": (
        "d.csv",
        "größe,response\n1,2\n".encode("latin-1"),
        "d.csv is not a readable CSV file",
    ),
    **{
        f"empty {kind}": (f"d.{kind}", b"", f"d.{kind} is not a readable {kind.upper()} file")
        for kind in ("csv", "tsv", "parquet", "npz")
    },
    "unknown ending": (
        "d.doc",
        b"a",
        r"unknown file type of d.doc; the suffix must be .csv, .tsv, .txt, .parquet, .xlsx",
    ),
    "unknown ending, packed": ("d.doc.gz", b"a", r"unknown file type of d.doc.gz"),
    "packed by name only": ("d.csv.gz", b"a,response\n1,2\n", "d.csv.gz is not a readable CSV file"),
    "comments only": ("d.csv", b"# a,response\n# 1,2\n", "d.csv is not a readable CSV file: it is empty"),
    "two ways to write numbers": (
        "d.csv",
        b"a;b;response\n1,5;1.234;2\n2;1;3\n",
        "column 'b', row 1 is '1.234', with a decimal point, but other numbers have decimal commas",
    ),
    "no ending": ("data", b"a,response\n1,2\n", "unknown file type of data"),
    "header only": ("d.csv", b"a,response\n", "d.csv has no rows"),
    "too many fields in a row": ("d.csv", b"a,b,response\n1,2,3\n4,5,6,7\n", "d.csv .*line 3"),
    "too many fields in every row": (
        "d.csv",
        b"a,b,response\n1,2,3,4\n5,6,7,8\n",
        "d.csv: rows have more fields than the header",
    ),
    "row numbers without a name": ("d.csv", b"a,response\n0,2,3\n1,6,7\n", "d.csv: rows have more fields"),
    "pandas' index": (
        "d.csv",
        b",a,response\n0,1,2\n",
        "column 1, '', looks like a row index; leave it out with --index 1 or --drop 1",
    ),
    "index with pandas' name": (
        "d.csv",
        b"Unnamed: 0,a,response\n0,1,2\n",
        "looks like a row index; leave it out with --index 1",
    ),
    "no name": ("d.csv", b"a,,response\n0,1,2\n", "column 2, '', has no name"),
    "the target twice": ("d.csv", b"response,a,response\n0,1,2\n", "2 columns named 'response'"),
    "too few fields": ("d.csv", b"a,b,response\n1,2,3\n4,5\n", "column 'response', row 2 is missing"),
    "missing value": (
        "d.csv",
        b"a,b,response\n1,2,3\n4,,6\n",
        "d.csv: column 'b', row 2 is missing; leave it out with --drop b",
    ),
    "missing target": (
        "d.csv",
        b"a,b,response\n1,2,3\n4,5,NA\n",
        "column 'response', row 2 is missing; drop",
    ),
    "text": ("d.csv", b"a,b,response\n1,2,3\n4,tall,6\n", "d.csv: column 'b', row 2 is 'tall', not a number"),
    "date": ("d.csv", b"a,response\n2020-01-01,3\n", "column 'a', row 1 is '2020-01-01', not a number"),
    "infinity": ("d.csv", b"a,b,response\n1,2,3\n4,inf,6\n", "column 'b', row 2 is inf, not a finite number"),
    "beyond floats": ("d.csv", b"a,b,response\n1,2,3\n4,1e400,6\n", "column 'b', row 2 is inf"),
    "target only": ("d.csv", b"response\n1\n2\n", "X must have .* one feature|no feature"),
    "Latin letters": (
        "d.csv",
        "a,gr\u00f6\u00dfe,response\n1,2,3\n".encode("latin-1"),
        "not UTF-8 text; save it as UTF-8",
    ),
    "misspelt target": (
        "d.csv",
        b"a,b,c,respons\n1,2,3,4\n",
        "'response' is not a column of d.csv, which has 'respons'$",
    ),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_is_refused_in_one_line_that_names_it(tmp_path, case):
    name, content, match = BAD_FILES[case]
    path = tmp_path / name
    path.write_bytes(content)
    refused(match, path)


@pytest.mark.parametrize(
    "name", ["none.csv", "none.npz", "none.parquet", "", "file.csv/d.csv", "x" * 300 + ".csv"]
)
def test_what_is_no_file_is_refused(tmp_path, name):
    (tmp_path / "file.csv").write_text("a,response\n1,2\n")
    refused("no file at|folder|name too long", tmp_path / name)


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "npz"])
def test_a_folder_is_refused_whatever_its_name(tmp_path, kind):
    folder = tmp_path / f"data.{kind}"
    folder.mkdir()
    refused("no file at|folder", folder)


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_the_target_must_be_given_and_be_a_column(tmp_path, kind):
    path = write(FRAME, tmp_path / f"d.{kind}")
    refused(
        rf"choose the target column of d.{kind} with --target; columns: .*height.*weight", path, target=None
    )
    refused(rf"--target 'nope' is not a column of d.{kind}, which has .*height.*weight", path, target="nope")


def test_columns_of_a_wide_table_are_not_all_listed(tmp_path):
    path = tmp_path / "d.csv"
    pd.DataFrame(np.ones((2, 1000))).to_csv(path, index=False)
    refused(r"0.*1.*2.*\(1000 columns\)", path)


def test_spaces_in_column_names_are_visible_in_the_message(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("a, response\n1, 2\n")
    refused("' response'", path)


@pytest.mark.parametrize(
    ("column", "match"),
    [
        (pd.date_range("2020", periods=5), "column 'extra', row 1 is .*, not a number"),
        (pd.to_timedelta(range(5), unit="s"), "column 'extra', row 1 is .*, not a number"),
        (pd.Categorical(list("aabbc")), "column 'extra', row 1 is 'a', not a number"),
        (list("abcde"), "column 'extra', row 1 is 'a', not a number"),
        ([[1, 2]] * 5, "column 'extra', row 1 is .*, not a number"),
        (pd.array([1, None, 3, 4, 5], dtype="Int64"), "column 'extra', row 2 is missing"),
    ],
)
def test_parquet_columns_that_are_no_numbers_are_refused(tmp_path, column, match):
    refused(match, write(FRAME.assign(extra=column), tmp_path / "d.parquet"))


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        ({"X": np.ones((2, 3))}, "d.npz must contain arrays X and y, but has no y"),
        ({"y": np.ones(2)}, "d.npz must contain arrays X and y, but has no X"),
        ({"a": np.ones(2)}, "d.npz must contain arrays X and y, but has no X and no y"),
        ({"X": np.ones((2, 3)), "y": np.ones(3)}, "X has 2 rows, y has 3"),
        ({"X": np.ones(3), "y": np.ones(3)}, "X must have 2 dimensions"),
        ({"X": np.full((2, 3), np.nan), "y": np.ones(2)}, r"X must be finite, got nan at X\[0, 0\]"),
        ({"X": np.array([["a"], ["b"]]), "y": np.ones(2)}, "X must be numbers, got .*'a'"),
        ({"X": np.array([[{}]], dtype=object), "y": np.ones(1)}, "d.npz"),
        ({"X": np.ones((2, 3)) * 1j, "y": np.ones(2)}, "X must be numbers"),
    ],
)
def test_npz_files_with_other_contents_are_refused(tmp_path, arrays, match):
    np.savez(tmp_path / "d.npz", **arrays)
    refused(match, tmp_path / "d.npz", target=None)


def test_a_target_that_npz_arrays_cannot_have_is_refused(tmp_path):
    refused("target", write(FRAME, tmp_path / "d.npz"), target="response")


def test_other_arrays_of_an_npz_file_are_left_alone(tmp_path):
    np.savez(tmp_path / "d.npz", X=np.ones((2, 3)), y=np.ones(2), names=np.array([{}], dtype=object))
    assert read_table(tmp_path / "d.npz", "y").X.shape == (2, 3)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "d.csv")
    refused("pipe", tmp_path / "d.csv")


def test_reading_leaves_the_file_as_it_was(tmp_path):
    for kind in ("csv", "tsv", "parquet", "npz"):
        path = write(FRAME, tmp_path / f"d.{kind}")
        before = path.read_bytes()
        read_table(path, None if kind == "npz" else "response")
        assert path.read_bytes() == before
