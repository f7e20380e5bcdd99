"""Tables on the command line: classes by name, standard input, and assumptions."""

import io
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tacit.cli import main

pytestmark = pytest.mark.any_cpu

RNG = np.random.default_rng(4)
FRAME = pd.DataFrame(RNG.standard_normal((5, 8)), columns=[f"gene {i}" for i in range(8)])
SIGNS = [1, -1, 1, 1, -1]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    FRAME.assign(label=SIGNS).to_csv("signs.csv", index=False)
    named = FRAME.assign(label=["well" if sign > 0 else "ill" for sign in SIGNS])
    named.to_csv("named.csv", index=False, sep=";", decimal=",")
    FRAME.assign(label=[int(sign > 0) for sign in SIGNS]).to_csv("codes.csv", index=False)

    def command(line):
        status = main(line.split())
        out, err = capsys.readouterr()
        return status, out, err

    return command


def told(content):
    return content.pop("assumed"), {k: v for k, v in content.items() if k not in ("data", "seconds")}


READ = ["fields separated by ';'", "commas in numbers are decimal points"]
WORDS, CODES = (
    "classes of 'label': " + each for each in ("'ill' is −1 and 'well' is +1", "0 is −1 and 1 is +1")
)


@pytest.mark.parametrize(
    "line", ["path {} --mu 1,0.1", "flow {} --loss exp --until 3", "flow {} --loss logistic --at 1,2"]
)
def test_classes_give_what_signs_give_and_are_told(run, line):
    results = {}
    for name in ("signs", "named", "codes"):
        status, out, err = run(line.format(f"{name}.csv") + " --target label --json -")
        assert status == 0
        results[name] = assumed, _ = told(json.loads(out))
        assert err == (f"tacit: assumed about {name}.csv: {'; '.join(assumed)}\n" if assumed else "")
    assert results["signs"][1] == results["named"][1] == results["codes"][1]
    assert [results[name][0] for name in ("signs", "named", "codes")] == [[], [*READ, WORDS], [CODES]]


def test_check_asks_classification_of_classes_and_regression_of_numbers(run):
    """Classes given as text become −1 and +1 for all theorems; numbers remain targets of regression."""
    verdicts = {}
    for name, expected in (("signs", []), ("named", [WORDS]), ("codes", [CODES])):
        for key in ("moroshko2020/lemma3", "woodworth2020/theorem1"):
            status, out, _ = run(f"check {name}.csv --target label --scale 0.5 --only {key} --json -")
            assert status == 0
            assumed, found = told(json.loads(out))
            assert [each for each in assumed if "classes" in each] == expected
            assert found["refused"] == {} and found["verdicts"][0]["holds"]
            verdicts[name, key] = found["verdicts"]
    for key in ("moroshko2020/lemma3", "woodworth2020/theorem1"):
        assert verdicts["named", key] == verdicts["signs", key]
    assert verdicts["codes", "moroshko2020/lemma3"] == verdicts["signs", "moroshko2020/lemma3"]


def test_words_are_no_target_of_a_regression(run):
    for line in ("limit named.csv", "flow named.csv"):
        status, out, err = run(f"{line} --target label")
        assert (status, out) == (2, "")
        assert "row 1 is 'well', not a number; for a target with classes, use 'tacit fit --classify'" in err


def test_standard_input_is_data_too(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("named.csv").read_bytes())))
    status, _, err = run("path - --target label --mu 1 --plot a.png --json a.json")
    assert status == 0 and err.startswith("tacit: assumed about standard input: commas in numbers")
    assert run("path signs.csv --target label --mu 1 --json b.json")[0] == 0
    results = [told(json.loads(Path(name).read_text(encoding="utf-8")))[1] for name in ("a.json", "b.json")]
    assert results[0] == results[1]


def test_summaries_name_the_features_of_the_table(run):
    for line in (
        "limit signs.csv",
        "flow signs.csv",
        "path signs.csv --mu 1",
        "flow signs.csv --loss exp --until 3",
    ):
        out = run(f"{line} --target label")[1]
        assert next(each for each in out.splitlines() if "features  " in each).split()[1] == "gene"
