"""Prepared data give the same results as plain arrays."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from oracles import gaussian_problem

import tacit
from tacit.data import equations
from tacit.data.equations import Samples

X, Y = gaussian_problem(12, 60, nonzero=4, seed=2)
LABELS = np.where(X[:, 0] > 0, 1.0, -1.0)
SCALES = np.geomspace(1e-4, 10, 25)


def gap(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


@pytest.mark.every(4)
@pytest.mark.parametrize("order", ["rising", "falling", "mixed"])
@pytest.mark.parametrize("depth", [2, 3])
def test_limits_are_those_of_separate_calls(depth, order):
    """Each result is within its own error estimate of the exact one, independent of earlier computations."""
    scales = {
        "rising": SCALES,
        "falling": SCALES[::-1],
        "mixed": np.random.default_rng(0).permutation(SCALES),
    }
    prepared = tacit.prepare(X)
    for scale in scales[order]:
        model = tacit.Diagonal(depth, scale)
        found, known = tacit.limit(model, prepared, Y), tacit.limit(model, X, Y)
        assert found.converged and found.error < 1e-12
        assert gap(found.predictor, known.predictor) <= 10 * (found.error + known.error)
        assert found.regime.name == known.regime.name


def test_scales_nearer_and_nearer_to_each_other_say_what_one_of_them_does():
    """As in a search over scales, for one model and then another."""
    prepared = tacit.prepare(X)
    for scale in 0.1 * (1 + 10.0 ** -np.arange(12)):
        tacit.limit(tacit.Diagonal(2, scale), prepared, Y)
    found, known = (tacit.limit(tacit.Diagonal(2, 0.09), inputs, Y) for inputs in (prepared, X))
    assert gap(found.predictor, known.predictor) <= 10 * (found.error + known.error)
    assert found.iterations < known.iterations


def test_neighbours_save_steps_and_equations_are_made_once(monkeypatch):
    made, prepared = [], tacit.prepare(X)
    cold = sum(tacit.limit(tacit.Diagonal(2, scale), X, Y).iterations for scale in SCALES)
    original = equations.Memory.once

    def counted(self, key, make):
        return original(self, key, lambda: (made.append(key[0]), make())[1])

    monkeypatch.setattr(equations.Memory, "once", counted)
    warm = sum(tacit.limit(tacit.Diagonal(2, scale), prepared, Y).iterations for scale in SCALES)
    assert made == ["equations"] and warm < 0.6 * cold


def test_other_targets_and_other_starts_are_other_problems():
    prepared, rng = tacit.prepare(X), np.random.default_rng(1)
    models = [
        tacit.Diagonal(2, 0.1),
        tacit.Diagonal(2, 0.1, profile=np.linspace(0.5, 2, 60)),
        tacit.UntiedDiagonal(0.01, 0.3),
        tacit.UntiedDiagonal.from_weights(*rng.uniform(0.1, 1, (4, 60))),
    ]
    for model in models:
        for y in (Y, -Y, Y[::-1].copy(), 1e-9 * Y):
            found, known = tacit.limit(model, prepared, y), tacit.limit(model, X, y)
            assert gap(found.predictor, known.predictor) < 1e-12


def test_every_verb_takes_it():
    prepared, model = tacit.prepare(X), tacit.Diagonal(2, 0.3)
    pairs = [
        (tacit.flow(model, each, Y, until=3.0).predictor, tacit.regime(model, each, Y).distance_to_rich)
        for each in (prepared, X)
    ]
    assert pairs[0][0].tobytes() == pairs[1][0].tobytes()
    assert pairs[0][1] == pytest.approx(pairs[1][1], rel=1e-9)
    for verb in (
        lambda X: tacit.max_margin(X, LABELS, "l1").predictor,
        lambda X: tacit.margin_path(X, LABELS, [1.0, 0.1]).predictors,
        lambda X: tacit.sweeping_path(X, LABELS, [1.0, 0.1]).predictors,
        lambda X: tacit.certify(model, X, Y, np.ones(60)).dual,
        lambda X: tacit.limit(model, X, Y, intercept=True, standardize=True).predictor,
        lambda X: model.tangent_kernel(X),
    ):
        assert verb(prepared).tobytes() == verb(X).tobytes()


def test_names_are_kept_and_what_is_prepared_stays():
    names = [f"feature {i}" for i in range(60)]
    prepared = tacit.prepare(pd.DataFrame(X, columns=names))
    assert tacit.prepare(prepared) is prepared and prepared.shape == (12, 60) and len(prepared) == 12
    assert tacit.limit(tacit.Diagonal(2, 0.1), prepared, Y).features == tuple(names)
    assert "12 samples × 60 features" in repr(prepared)


def test_it_is_a_copy_that_can_be_pickled():
    own = X.copy()
    prepared = tacit.prepare(own)
    first = tacit.limit(tacit.Diagonal(2, 0.1), prepared, Y)
    own[:] = 0
    again = tacit.limit(tacit.Diagonal(2, 0.1), pickle.loads(pickle.dumps(prepared)), Y)
    assert gap(again.predictor, first.predictor) < 1e-13
    assert len(pickle.dumps(first)) < 10 * first.X.nbytes


@pytest.mark.parametrize(("given", "words"), [([[1.0, np.nan]], "finite"), ([1.0, 2.0], "2 dimensions")])
def test_bad_input_is_named(given, words):
    with pytest.raises(tacit.InputError, match=words):
        tacit.prepare(given)


def test_samples_with_other_rows_know_nothing_of_each_other():
    """Margins with an intercept use many subsets of the samples, with the same targets."""
    samples = Samples(X)
    samples.equations(Y, 1e-10)
    fewer = replace(samples, X=X[:3])
    assert fewer.memory is not samples.memory and not fewer.memory.known
