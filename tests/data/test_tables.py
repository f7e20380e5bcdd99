"""Common file formats: properties that a file does not declare are detected and reported."""

import bz2
import gzip
import io
import lzma
import sys

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.data import delimited_text
from tacit.data.tables import read_table

pytestmark = pytest.mark.any_cpu

ROWS = [[1.5, -2.25e-3, 3.0], [4.0, 0.1, -6.125]]


def read(tmp_path, name, text, target="response", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(path, target, **options)


def lines(between, rows=ROWS, names=("a", "b", "response"), decimal="."):
    written = [[repr(number).replace(".", decimal) for number in row] for row in rows]
    return "".join(f"{between.join(row)}\n" for row in [names, *written])


def same(table, rows=ROWS):
    return np.column_stack([table.X, table.y]).tolist() == rows


@pytest.mark.parametrize("kind", ["csv", "tsv", "txt"])
@pytest.mark.parametrize("between", [",", ";", "\t", "|", " "])
def test_separators_are_found_whatever_the_name_says(tmp_path, kind, between):
    table = read(tmp_path, f"d.{kind}", lines(between))
    assert same(table) and table.features == ("a", "b")
    surprising = {"csv": ",", "tsv": "\t", "txt": between}[kind] != between
    shown = "spaces" if between == " " else repr(between)
    assert table.assumed == ((f"fields separated by {shown}",) if surprising else ())


@pytest.mark.parametrize("between", [";", "\t", "|", " "])
def test_decimal_commas_are_found_where_commas_do_not_separate(tmp_path, between):
    table = read(tmp_path, "d.txt", lines(between, decimal=","))
    assert same(table) and table.assumed == ("commas in numbers are decimal points",)


def test_numbers_with_decimal_commas_are_read_to_the_last_bit(tmp_path):
    values = np.random.default_rng(3).standard_normal(2000) * 10.0 ** np.arange(-100, 100).repeat(10)
    text = "a;response\n" + "".join(f"{v!r};0\n" for v in values.tolist()).replace(".", ",")
    assert read(tmp_path, "d.csv", text).X[:, 0].tobytes() == values.tobytes()


def test_commas_in_names_and_words_are_no_decimals(tmp_path):
    table = read(tmp_path, "d.csv", "2,4-D;x, 1,5 cm;response\n1.5;2;ill, 2,5\n2.5;3;well\n", classes=True)
    assert table.features == ("2,4-D", "x, 1,5 cm") and table.X.tolist() == [[1.5, 2], [2.5, 3]]


def test_a_separator_that_is_also_in_names_is_told_by_the_numbers(tmp_path):
    table = read(tmp_path, "d.csv", "height, m;weight, kg;response\n1,5;2,25;3\n4,5;5;6\n")
    assert table.features == ("height, m", "weight, kg") and table.X.tolist() == [[1.5, 2.25], [4.5, 5]]


def test_a_quoted_name_may_contain_a_separator_and_a_line_break(tmp_path):
    table = read(tmp_path, "d.csv", '"weight;kg","height\n  in m",response\n1,2.25,3\n4,5,6\n')
    assert table.features == ("weight;kg", "height\n  in m") and table.X.tolist() == [[1, 2.25], [4, 5]]


def test_a_separator_whose_quotes_do_not_end_is_none(tmp_path):
    """With ; between fields, the name "b would be a quoted one as long as the file."""
    rows = "".join(f"{i},{i / 4},{i / 2}\n" for i in range(30_000))
    table = read(tmp_path, "d.csv", f'a;"b,c,response\n{rows}')
    assert table.features == ('a;"b', "c") and len(table.y) == 30_000


def test_comment_lines_are_skipped_and_a_mark_within_a_line_is_none(tmp_path):
    table = read(tmp_path, "d.csv", "# measured, twice\n#\na#1,response\n1,2\n# a break\n3,4\n")
    assert table.features == ("a#1",) and same(table, [[1, 2], [3, 4]])
    assert table.assumed == ("3 comment lines skipped",)


def test_names_may_stand_in_the_comment_above_the_data(tmp_path):
    content = io.StringIO()
    np.savetxt(content, ROWS, delimiter=",", header="by hand\na,b,response", fmt="%.17g")
    table = read(tmp_path, "d.csv", content.getvalue())
    assert table.features == ("a", "b") and same(table)
    told = ("column names taken from the comment above the data", "1 comment line skipped")
    assert table.assumed == told


def test_names_that_are_numbers_stay_names_below_a_comment(tmp_path):
    """Wavelengths below a comment with the same number of commas."""
    table = read(
        tmp_path, "d.csv", "# spectra, dry, 1999\n1100,1102,octane\n0.1,0.2,88\n0.3,0.4,90\n", "octane"
    )
    assert table.features == ("1100", "1102") and table.y.tolist() == [88, 90]


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip), ("bz2", bz2), ("xz", lzma)])
def test_packed_files_are_unpacked(tmp_path, ending, pack):
    for kind, between in (("csv", ","), ("tsv", "\t"), ("txt", ";")):
        assert same(read(tmp_path, f"d.{kind}.{ending}", pack.compress(lines(between).encode())))


def test_standard_input_is_read_as_text(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines(";").encode())))
    table = read_table("-", "response")
    assert same(table) and table.target == "response"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a;b\n1;2\n")))
    with pytest.raises(
        tacit.InputError, match="'response' is not a column of standard input, which has 'a', 'b'"
    ):
        read_table("-", "response")


def test_excel_sheets_are_read_with_their_numbers(tmp_path):
    pytest.importorskip("openpyxl")
    frame = pd.DataFrame(ROWS, columns=["a", "b", "response"])
    frame.to_excel(tmp_path / "d.xlsx", index=False)
    assert same(read_table(tmp_path / "d.xlsx", "response"))
    frame.assign(response=["ill", "well"]).to_excel(tmp_path / "d.xlsx", index=False)
    assert read_table(tmp_path / "d.xlsx", "response", classes=True).y.tolist() == [-1, 1]
    frame.to_excel(tmp_path / "d.xlsx")
    with pytest.raises(tacit.InputError, match="column 1, '', looks like a row index"):
        read_table(tmp_path / "d.xlsx", "response")


def test_without_openpyxl_an_excel_file_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "d.xlsx").write_bytes(b"PK")
    with pytest.raises(
        tacit.InputError,
        match=r"d.xlsx needs openpyxl, which is not installed: pip install 'openpyxl>=3.1'",
    ):
        read_table(tmp_path / "d.xlsx", "response")


@pytest.mark.parametrize(("labels", "y"), [(("1", "0"), [1, 0]), (("well", "ill"), [1, -1])])
def test_wide_tables_are_read_at_once_and_exactly(tmp_path, monkeypatch, labels, y):
    monkeypatch.setattr(delimited_text, "_WIDE", 100)
    monkeypatch.delattr(pd, "read_csv")
    values = np.random.default_rng(5).standard_normal((2, 300)) * 1e-200
    rows = [",".join([*map(repr, row), name]) for row, name in zip(values.tolist(), labels, strict=True)]
    text = "\n".join([",".join(f"g{i}" for i in range(300)) + ",response", *rows])
    table = read(tmp_path, "d.csv", text, classes=True)
    assert table.X.tobytes() == values.tobytes() and table.features[-1] == "g299"
    assert table.y.tolist() == y


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize(
    ("row", "match"),
    [
        ("1," * 300 + "1,5", "line 3 has 302 fields"),
        ("1," * 299 + "1", "column 'response', row 2 is missing"),
        ("1," * 299 + "x,1", "column 'g299', row 2 is 'x', not a number"),
        ("1," * 299 + "inf,1", "column 'g299', row 2 is inf"),
        ("1_0," + "1," * 299 + "1", "column 'g0', row 2 is '1_0', not a number"),
    ],
)
def test_a_wide_table_is_refused_as_any_other(tmp_path, monkeypatch, wide, row, match):
    monkeypatch.setattr(delimited_text, "_WIDE", 100 if wide else 1000)
    names = [f"g{i}" for i in range(300)] + ["response"]
    with pytest.raises(tacit.InputError, match=match):
        read(tmp_path, "d.csv", "\n".join([",".join(names), "0," * 300 + "0", row]))


def test_parquet_of_any_columns_is_read_with_its_index_left_out(tmp_path):
    frame = pd.DataFrame(
        {"a": np.float32([0.1, 0.2]), "b": [True, False], "c": ["1.5", "2.5"], "response": [1, 2]}
    )
    frame.index = pd.Index(["s", "t"], name="sample")
    frame.to_parquet(tmp_path / "d.parquet")
    table = read_table(tmp_path / "d.parquet", "response")
    assert table.features == ("a", "b", "c") and table.y.tolist() == [1, 2]
    assert table.X.tolist() == [[float(np.float32(0.1)), 1, 1.5], [float(np.float32(0.2)), 0, 2.5]]


CLASSES = {
    "words": (["ill", "well", "ill"], "'ill' is −1 and 'well' is +1"),
    "numbers": (["1", "0", "1"], "0 is −1 and 1 is +1"),
    "truths": (["True", "False", "True"], "0 is −1 and 1 is +1"),
    "codes": (["2", "1", "2"], "1 is −1 and 2 is +1"),
    "signs": (["-1", "+1", "-1"], None),
}


@pytest.mark.parametrize("case", CLASSES)
def test_what_classes_become_is_told(tmp_path, case):
    entries, told = CLASSES[case]
    table = read(tmp_path, "d.csv", "a,label\n" + "".join(f"1,{e}\n" for e in entries), "label", classes=True)
    assert table.assumed == (() if told is None else (f"classes of 'label': {told}",))


@pytest.mark.parametrize(
    ("entries", "match"),
    [
        ("xyz", "--target 'label' needs labels .* 3 classes: 'x', 'y', 'z'; keep the samples of two"),
        (["x", "", "y"], "column 'label', row 2 is missing"),
        ("xxx", "only one class, 'x'"),
    ],
)
def test_other_targets_than_two_classes_are_refused_by_name(tmp_path, entries, match):
    with pytest.raises(tacit.InputError, match=match):
        read(tmp_path, "d.csv", "a,label\n" + "".join(f"1,{e}\n" for e in entries), "label", classes=True)


def test_words_as_the_target_of_a_regression_are_refused_with_a_hint(tmp_path):
    with pytest.raises(
        tacit.InputError, match="row 1 is 'x', not a number; for a target with classes, use 'tacit fit"
    ):
        read(tmp_path, "d.csv", "a,label\n1,x\n2,y\n", "label")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,y\n1,2,3\n4,5,6,7\n", "line 3 has 4 fields, but the lines above have 3"),
        ('a,b,y\n1,"2,3\n4,5,6\n', "row 1 has an opening quotation mark that is never closed"),
    ],
)
def test_text_that_is_no_table_is_told_in_words(tmp_path, text, words):
    (tmp_path / "data.csv").write_text(text)
    with pytest.raises(tacit.InputError, match=rf"data\.csv is not a readable CSV file: {words}$"):
        read_table(str(tmp_path / "data.csv"), "y")
