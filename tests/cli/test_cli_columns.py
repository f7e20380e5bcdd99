"""Columns, advice, suggestions, verbosity and completion on the command line."""

import json
import logging
import subprocess

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.cli import main

pytestmark = pytest.mark.any_cpu

RNG = np.random.default_rng(11)
X, Y = RNG.standard_normal((6, 9)), RNG.standard_normal(6)
SIZES = 10.0 ** np.array([0, 2, 0.5, 2.5, 1, 3, -0.5, 1.2, 0])


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(X, columns=[f"g{i}" for i in range(9)]).assign(y=Y)
    frame.to_csv("plain.csv", index=False)
    named = pd.DataFrame({"sample": [f"s{i}" for i in range(6)], "number": range(1, 7)})
    named.join(frame).assign(same=2.0).to_csv("named.csv", index=False)
    frame.assign(**{f"g{i}": X[:, i] * SIZES[i] for i in range(9)}).to_csv("mixed.csv", index=False)
    frame.assign(y=1).to_csv("single.csv", index=False)

    def command(line):
        try:
            status = main(line.split())
        except SystemExit as stop:
            status = stop.code
        return status, *capsys.readouterr()

    return command


CHOSEN = "--target y --index sample --drop number same"
COMMANDS = [
    "limit {} --scale 0.1",
    "flow {} --scale 0.1 --until 2",
    "descend {} --scale 0.1 --step 1e-3 --until 0.1",
    "path {} --saddle",
    "fit {} --scale 0.1",
]


@pytest.mark.parametrize("line", COMMANDS)
def test_columns_left_out_change_nothing_else(run, line):
    status, out, err = run(line.format("plain.csv --target y") + " --json -")
    other, chosen, told = run(line.format(f"named.csv {CHOSEN}") + " --json -")
    assert (status, err) == (other, told) == (0, "")
    plain, found = json.loads(out), json.loads(chosen)
    assert found.pop("samples", None) == [f"s{i}" for i in range(6)]
    volatile = ("data", "seconds", "target")
    for name in plain.keys() - set(volatile) - {"fit"}:
        assert found[name] == plain[name], name


def test_features_can_be_named(run):
    status, out, _ = run("limit plain.csv --target y --features g0:g6 g8 --scale 0.1 --json -")
    found = json.loads(out)
    assert status == 0 and found["features"] == [*(f"g{i}" for i in range(7)), "g8"]
    expected = tacit.limit(tacit.Diagonal(scale=0.1), np.delete(X, 7, axis=1), Y)
    np.testing.assert_allclose(found["predictor"], expected.predictor, rtol=1e-12)


def test_predictions_are_labelled_with_the_names_of_samples(run):
    assert run(f"fit named.csv {CHOSEN} --scale 0.1 --save model.json")[0] == 0
    status, out, err = run("predict model.json named.csv --index sample --drop number same")
    lines = out.splitlines()
    assert status == 0 and lines[0] == "sample,y" and "not use" not in err
    names, values = zip(*(line.split(",") for line in lines[1:]), strict=True)
    assert names == tuple(f"s{i}" for i in range(6))
    unnamed = run("predict model.json named.csv")[1].splitlines()
    assert list(values) == unnamed[1:]


def test_advice_names_the_option(run):
    _, _, err = run("limit named.csv --target y --index sample --scale 0.1")
    assert "a feature is constant; leave out with --drop same" in err
    assert "column 'number' counts the samples" in err and "--index number" in err
    assert run("limit plain.csv --target y --scale 0.1")[2] == ""


def test_mixed_units_are_advised_to_be_standardized(run):
    ratio = np.ptp(np.log10(np.ptp(X * SIZES, axis=0)))
    _, _, err = run("limit mixed.csv --target y --scale 0.1")
    assert f"differ by a factor of {10**ratio:.3g}" in err and "--standardize" in err
    assert run("limit mixed.csv --target y --scale 0.1 --standardize")[2] == ""
    assert run("limit mixed.csv --target y --scale 0.1 --quiet")[2] == ""


def test_a_spectrum_is_not_taken_for_mixed_units(run):
    sizes = np.geomspace(1, 1000, 30)  # neighbouring columns have nearly equal spreads
    frame = pd.DataFrame(np.random.default_rng(0).uniform(0.5, 1, (5, 30)) * sizes).assign(y=1.0)
    frame.iloc[0, -1] = 2.0
    frame.to_csv("spectrum.csv", index=False)
    assert run("limit spectrum.csv --target y --scale 0.1")[2] == ""


def test_a_single_class_is_told(run):
    status, _, err = run("path single.csv --target y --mu 1")
    assert status == 0 and "all samples have the label 1" in err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("limt plain.csv", "did you mean 'limit'? (try 'tacit --help')"),
        ("limit plain.csv --trget y", "did you mean '--target'? (try 'tacit limit --help')"),
        ("limit plain.csv --target y --model diagnal", "did you mean 'diagonal'?"),
        ("limit plain.csv --target y --zzz", "unrecognized arguments: --zzz (try"),
        ("limit plain.csv --target y --drop g99", "which has 'g"),
    ],
)
def test_a_similar_word_is_suggested(run, line, words):
    status, out, err = run(line)
    assert (status, out) == (2, "") and words in err and err.count("\n") == 1


def test_help_is_a_command_too(run):
    assert run("help") == run("--help") and run("help limit") == run("limit --help")


@pytest.mark.parametrize("line", ["-v limit plain.csv --target y", "limit plain.csv --target y --verbose"])
def test_verbose_reports_what_is_computed(run, line):
    status, _, err = run(line)
    assert status == 0 and err.splitlines()[0] == "tacit: read 6 samples with 9 features from plain.csv"
    assert "tacit: limit of Diagonal(depth=2, scale=1): " in err
    assert logging.getLogger("tacit").handlers == [] and run("limit plain.csv --target y")[2] == ""


def test_quiet_and_verbose_exclude_each_other(run):
    assert run("limit plain.csv --target y --quiet -v")[0] == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_a_completion_script_lists_commands_and_options(run, shell):
    pytest.importorskip("shtab")
    status, out, _ = run(f"completion {shell}")
    assert status == 0 and all(word in out for word in ("limit", "target", "descend"))


def test_bash_completes_options(run, tmp_path):
    pytest.importorskip("shtab")
    (tmp_path / "complete.sh").write_text(run("completion bash")[1])
    script = (
        "source complete.sh; COMP_WORDS=(tacit limit --stand); COMP_CWORD=2; "
        '_shtab_tacit tacit --stand limit; echo "${COMPREPLY[@]}"'
    )
    found = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["--standardize"]
