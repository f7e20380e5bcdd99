"""tacit probe: networks in the user's files."""

import json

import numpy as np
import pytest

from tacit.cli import main

MODELS = """
import numpy as np
import jax.numpy as jnp
from tacit import Network

def apply(p, X):
    return jnp.tanh(X @ p["W"]) @ p["V"]

def make(features, outputs):
    rng = np.random.default_rng(0)
    return apply, {"W": rng.standard_normal((features, 8)), "V": rng.standard_normal((8, outputs)) / 3}

def one(features):
    return make(features, 1)

ready = Network(*make(3, 1))

def fails(features):
    raise RuntimeError("boom")

def nan(features):
    return (lambda p, X: jnp.log(-(X @ p) ** 2 - 1)), np.ones(features)

def number():
    return 3

def greedy(a, b, c):
    return None
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("probe")
    (path / "model.py").write_text(MODELS)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((24, 3))
    kinds = np.array(["red", "green", "blue"])[X.argmax(axis=1)]
    rows = [f"{a},{b},{c},{np.sin(a) + b},{kind}" for (a, b, c), kind in zip(X, kinds, strict=True)]
    (path / "numbers.csv").write_text("a,b,c,y\n" + "\n".join(row.rpartition(",")[0] for row in rows))
    (path / "kinds.csv").write_text(
        "a,b,c,kind\n" + "\n".join(",".join(row.split(",")[:3] + row.split(",")[4:]) for row in rows)
    )
    return path


def run(folder, name, *more, data="numbers.csv", target="y"):
    return main(["probe", f"{folder}/model.py:{name}", f"{folder}/{data}", "--target", target, *more])


@pytest.mark.parametrize("name", ["make", "one", "ready"])
def test_pairs_makers_and_networks_are_probed(folder, name, capsys):
    assert run(folder, name, "--steps", "50", "--standardize") == 0
    text = capsys.readouterr().out
    assert "VERDICT" in text and "18 samples, 6 held out" in text


def test_json_has_the_sweep_too(folder, capsys):
    assert run(folder, "one", "--steps", "40", "--scales", "0.5,2", "--layers", "last", "--json", "-") == 0
    content = json.loads(capsys.readouterr().out)
    assert content["sweep"]["scales"] == [0.5, 2]
    assert content["sweep"]["rescaled"] == ["W"] or content["sweep"]["rescaled"] == ["V"]
    assert content["regime"] in ("kernel", "rich", "intermediate")
    assert len(content["eigenvalues"]) == 18


def test_classes_by_name_have_an_output_each(folder, capsys, tmp_path):
    more = ("--loss", "cross-entropy", "--steps", "60", "--plot", str(tmp_path / "p.png"), "--doubled")
    assert run(folder, "make", *more, data="kinds.csv", target="kind") == 0
    read = capsys.readouterr()
    assert "blue is 0, green is 1, red is 2" in read.err and "correct" in read.out
    assert (tmp_path / "p.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("nothing", (), "has no 'nothing'; it has"),
        ("fails", (), "model.py, line 19: RuntimeError: boom"),
        ("nan", (), "returns nan at sample"),
        ("number", (), "it returned int"),
        ("greedy", (), "requires 3 arguments"),
        ("one", ("--layers", "last"), "--layers needs --scales"),
        ("one", ("--scales", "1", "--layers", "x"), "no layer 'x'"),
        ("one", ("--loss", "cross-entropy"), "needs one output per class"),
    ],
)
def test_what_is_wrong_is_one_line(folder, name, more, message, capsys):
    assert run(folder, name, "--steps", "3", *more) == 2
    error = capsys.readouterr().err.strip()
    assert message in error.splitlines()[-1]


def test_classes_for_the_square_loss_and_files_without_a_name(folder, capsys):
    assert run(folder, "one", data="kinds.csv", target="kind") == 2
    assert "not a number" in capsys.readouterr().err
    assert main(["probe", "model.py", f"{folder}/numbers.csv", "--target", "y"]) == 2
    assert "FILE.py:NAME" in capsys.readouterr().err


def test_a_target_far_from_zero_is_remarked_on(folder, capsys, tmp_path):
    table = (folder / "numbers.csv").read_text().splitlines()
    far = [table[0], *(f"{row.rpartition(',')[0]},{float(row.rpartition(',')[2]) + 90}" for row in table[1:])]
    (tmp_path / "far.csv").write_text("\n".join(far))
    main(["probe", f"{folder}/model.py:one", f"{tmp_path}/far.csv", "--target", "y", "--steps", "3"])
    assert "--standardize removes it" in capsys.readouterr().err
