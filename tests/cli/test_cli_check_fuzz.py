"""tacit check on unusual tables: it succeeds or reports an error in one line."""

import contextlib
import io
import json
import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

import tacit
from tacit.cli import main
from tacit.theorems import check

MODELS = (
    "--scale 0.3",
    "--depth 3 --scale 0.5",
    "--depth 2 --log-scale -200",
    "--depth 10 --scale 1e-6",
    "--depth 2.5 --scale 100",
    "--model untied --scale 0.2 --shape 0.5",
    "--model neuron --scale 0.7",
    "--model linear --width 4",
)
ODDITIES = ("none", "constant", "columns", "rows", "labels", "missing", "huge", "tiny")
CELLS = st.one_of(
    st.floats(-10, 10, allow_subnormal=False).map(lambda x: f"{x:.3g}"),
    st.sampled_from(["0", "1", "-1", "1e300", "-1e300", "1e-300", "5e-324", "1e12", "1e-12"]),
)


@st.composite
def tables(draw):
    """Tables as text, with a few numbers and some invalid cells."""
    samples, features = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    rows = [[draw(CELLS) for _ in range(features + 1)] for _ in range(samples)]
    oddity = draw(
        st.sampled_from(["none", "constant", "columns", "rows", "labels", "missing", "huge", "tiny"])
    )
    column = draw(st.integers(0, features - 1))
    for number, row in enumerate(rows):
        if oddity == "constant":
            row[column] = rows[0][column]
        elif oddity == "columns":
            row[column] = row[(column + 1) % features]
        elif oddity == "rows":
            rows[number] = list(rows[0])
        elif oddity == "labels":
            row[-1] = "1" if number % 2 else "-1"
        elif oddity in ("huge", "tiny"):
            power = 290 if oddity == "huge" else -290
            row[column] = f"{draw(st.floats(1, 9)):.3g}e{power}"
    if oddity == "missing":
        rows[-1][column] = draw(st.sampled_from(["", "nan", "NA", "inf", "?", "-"]))
    return [[*(f"x{i}" for i in range(features)), "y"], *rows]


def answered(table, line):
    """The exit status for a table, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.csv"
        file.write_text("\n".join(",".join(row) for row in table) + "\n", encoding="utf-8")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(["check", str(file), "--target", "y", *line.split(), "--json", "-"])
    return status, out.getvalue(), err.getvalue()


@examples(20)
@given(tables(), st.sampled_from(MODELS))
def test_odd_tables_are_answered_or_refused_by_name(table, line):
    verify(table, line)


def verify(table, line):
    """Other exceptions would leave `main`."""
    status, out, err = answered(table, line)
    assert status in (0, 1, 2) and "unexpected" not in err
    if out:
        found = json.loads(out)
        lost = {v["key"] for v in found["verdicts"] if v["verdict"] == "not decided"}
        assert lost <= set(found["refused"])  # the error names the quantity that did not converge
        assert found["verdicts"] or found["refused"] or found["not_asked"]
        numbers = [b["measured"] for v in found["verdicts"] for b in v["bounds"]]
        assert all(number is None or math.isfinite(number) for number in numbers)
        assert status == 1 or not any(v["holds"] is False for v in found["verdicts"])
        violated = {v["key"] for v in found["verdicts"] if v["verdict"] == "violated"}
        assert not any(key.startswith(("moroshko2020/", "min2021/")) for key in violated)
    else:
        assert status == 2 and err.startswith("tacit: ") and err.count("\n") == 1


ODD = {
    "one sample": [["x0", "x1", "y"], ["1", "2", "3"]],
    "one number": [["x0", "y"], ["1", "3"]],
    "all zero": [["x0", "x1", "y"], ["0", "0", "0"], ["0", "0", "0"]],
    "constant columns": [["x0", "x1", "y"], ["1", "1", "2"], ["1", "1", "2"]],
    "duplicates": [["x0", "x1", "y"], ["1", "2", "3"], ["1", "2", "3"], ["1", "2", "3"]],
    "huge": [["x0", "x1", "y"], ["1e300", "2e300", "1"], ["1e300", "-1e300", "-1"]],
    "tiny": [["x0", "x1", "y"], ["1e-300", "2e-300", "1"], ["1e-300", "-1e-300", "-1"]],
    "mixed": [["x0", "x1", "y"], ["1e200", "2e-200", "1"], ["1", "-1e-200", "-1"]],
}


@pytest.mark.every(4)
@pytest.mark.parametrize("case", ODD)
def test_known_odd_tables(case):
    for line in MODELS[:2]:
        status, out, err = answered(ODD[case], line)
        assert status in (0, 1, 2) and "unexpected" not in err and (out or err.startswith("tacit: "))


@pytest.mark.parametrize("line", ["--scale 0.3", "--depth 10 --scale 1e-6"])
def test_bounds_leave_room_for_rounding_at_tiny_predictors(line):
    """x = 1e12 makes w = 1e-12: differences of large terms, and weights that nearly cancel."""
    verify([["x0", "y"], ["1e12", "1"]], line)


def test_bounds_leave_room_for_the_tolerance_of_the_flow():
    """Of two equal columns, log t is 800 and its rounding passed the bound (44) of κ = 0."""
    verdict = check("moroshko2020/appendixE", tacit.Diagonal(10, 1e-6), [[1e12, 1e12]], [1.0])
    assert verdict.holds


@pytest.mark.parametrize("missing", ["", "nan", "inf"])
def test_missing_values_are_named(missing):
    table = [["x0", "x1", "y"], ["1", "2", "3"], ["1", missing, "0"]]
    status, out, err = answered(table, "--scale 0.3")
    assert status == 2 and out == "" and "x1" in err and err.count("\n") == 1


def test_an_error_without_a_name_would_be_seen(monkeypatch):
    def broken(*given, **options):
        raise KeyError("no name")

    monkeypatch.setattr("tacit.papers.statements.Theorem.judge", broken)
    status, out, _ = answered(ODD["one sample"], "--scale 0.3")
    assert status == 1 and {v["because"] for v in json.loads(out)["verdicts"]} == {"KeyError: 'no name'"}


def test_sizes_that_floats_cannot_hold_are_named():
    """Columns from 1e-150 to 1e150, whose kernel solution overflows, and a start whose kernel does."""
    X = np.random.default_rng(0).standard_normal((6, 10)) * 10.0 ** np.linspace(-150, 150, 10)
    with pytest.raises(tacit.InputError, match="features differ in size"):
        tacit.limit(tacit.Diagonal(scale=0.1), X, np.ones(6))
    far = tacit.Diagonal(log_scale=400)
    with pytest.raises(tacit.InputError, match="overflows"):
        tacit.flow(far, np.eye(2), [1.0, -1.0], loss="exp", at=[1.0], linearized=True)


@pytest.mark.parametrize(
    ("key", "unit"), [("azulay2021/lemma4", 1e300), ("woodworth2020/theorem2-l2", 1e-300)]
)
def test_numbers_beyond_floats_are_named(key, unit):
    # depending on the CPU, a product overflows first, or a limit is not certified
    named = f"{key} overflows or underflows on these data|the solver did not settle"
    with pytest.raises((tacit.InputError, tacit.NotConvergedError), match=named):
        check(key, tacit.Diagonal(), [[unit, 2 * unit], [unit, -unit]], [1.0, 1e6])
