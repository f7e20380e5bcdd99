"""Text printed in ASCII, and numbers close to special values, remain distinguishable."""

import os
import subprocess
import sys

import numpy as np
import pytest

import tacit
from tacit.cli.streams import plain
from tacit.data.printable import shown
from tacit.show.text import top_features

pytestmark = pytest.mark.any_cpu


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("‖w‖₁ 2 − ‖w‖₂", "|w|_1 2 - |w|_2"),
        ("3 × 4 ≤ α^D ≥ μ → ∞ …", "3 x 4 <= alpha^D >= mu -> inf ..."),
        (
            "ℓ1, ℓ2, Λ, λ, Σ, ½, σ⁻¹, UᵀU, w₊, w̃(0) ≠ ŵ",
            "l1, l2, Lambda, lambda, Sigma, 1/2, sigma^-1, U^TU, w_+, w~(0) != w^",
        ),
        ("größe 身高", "gro?e ??"),
        ("plain | text_1 ^2", "plain | text_1 ^2"),
    ],
)
def test_letters_have_a_meaning_in_ascii(text, expected):
    assert plain(text) == expected


@pytest.mark.every(2)
@pytest.mark.parametrize("variables", [{"PYTHONIOENCODING": "ascii"}, {"PYTHONUTF8": "0"}])
def test_norms_are_told_apart_where_there_is_ascii_only(tmp_path, variables):
    (tmp_path / "d.csv").write_text("a;größe;label\n1;2;ill\n3;1;well\n", encoding="utf-8")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", **variables}
    command = [sys.executable, "-m", "tacit", "path", "d.csv", "--target", "label", "--mu", "1,0.1"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=120)
    assert done.returncode == 0
    out, err = done.stdout.decode("ascii"), done.stderr.decode("ascii")
    for part in ("2 samples x 2 features", "|w|_1", "|w|_2", "mu = 1", "gro?e"):
        assert part in out
    assert err.splitlines() == [
        "tacit: assumed about d.csv: fields separated by ';'; classes of 'label': 'ill' is -1 and 'well' "
        "is +1"
    ]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1 - 1e-12, "1 - 1e-12"),
        (-1 + 1e-12, "-1 + 1e-12"),
        (1 + 2**-52, "1 + 2.2e-16"),
        (2 + 1e-9, "2 + 1e-09"),
        (1.0, "1"),
        (-1.0, "-1"),
        (2, "2"),
        (0.99999, "0.99999"),
        (123456789.0, "1.23457e+08"),
        (1e-12, "1e-12"),
    ],
)
def test_a_number_does_not_look_like_another_that_means_more(number, text):
    assert shown(number) == text


def test_models_show_parameters_near_their_ends():
    assert repr(tacit.UntiedDiagonal(1, 0.999999999999)) == "UntiedDiagonal(scale=1, shape=1 - 1e-12)"
    assert repr(tacit.Diagonal(2 + 1e-9, 1 - 1e-9)) == "Diagonal(depth=2 + 1e-09, scale=1 - 1e-09)"
    neuron = tacit.Neuron.from_scale(1, 0.9999, [1.0, 0.0], slope=1 - 1e-9)
    assert "slope=1 - 1e-09" in repr(neuron) and "shape 1 - 0.0001," in neuron.describe()


def test_the_largest_features_are_named_in_order():
    w = np.array([0.0, -5.0, 3.0, 1e-9])
    assert top_features(w) == "x1 = -5, x2 = 3"
    assert top_features(w, ["a", "b", "c", "d"]) == "b = -5, c = 3"
    assert top_features(w * 1e-320, None).startswith("x1 = -5e-320, x2 = 3e-320")
    assert top_features(np.ones(9)) == "x0 = 1, x1 = 1, x2 = 1, x3 = 1, x4 = 1, x5 = 1, …"
    assert top_features(w[:, None]) == "x1 = -5, x2 = 3"
    assert top_features(np.array([[1.0, 0.0], [0.0, -2.0]]), ["a", "b"]) == "b[1] = -2, a[0] = 1"
    assert top_features(np.zeros(3)) == "none: all coordinates are 0"
    assert top_features(w, ["x" * 99] * 4).startswith("xxxxxxxxxxxx…xxxxxxxxxxx = -5")


def test_every_summary_names_features():
    X, y = np.array([[1.0, 2.0, 0.5], [0.5, -1.0, 3.0]]), np.array([1.0, -1.0])
    results = [
        tacit.limit(tacit.Diagonal(2, 0.1), X, y),
        tacit.flow(tacit.Diagonal(2, 0.1), X, y, until=3),
        tacit.max_margin(X, y, "l1"),
        tacit.margin_path(X, y, [1.0, 0.1]),
    ]
    for result in results:
        assert "features" in result.summary() and "x1 " in result.summary()
        assert "height = 0." in result.summary(names=["weight", "height", "age"])
