"""Every model × every verb × every method of the result, for built-in models and for those of users.

Each combination returns a result or raises an error of Tacit, and every result can be printed, written and
drawn.
"""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from guests import ArcSine, Bare, Cosh, Coupled, Quartic, Tempered, Twins, function_model, network
from matplotlib.figure import Figure

import tacit
from tacit import potentials
from tacit.losses import Exponential, Logistic, Square

pytestmark = pytest.mark.any_cpu

D = 6
RNG = np.random.default_rng(8)
X = RNG.standard_normal((4, D))
Y = X[:, :2] @ [1.0, -0.5]
LABELS = np.where(X[:, 0] > 0, 1.0, -1.0)
NAMES = tuple(f"feature {i}" for i in range(D))
DIRECTION = np.linspace(-1, 1, D)
MATRICES = X.reshape(4, 2, 3)
AT = np.linspace(2, 4, 9)  # few times, because models without written-out derivatives use JAX at each

MODELS = {
    "diagonal": tacit.Diagonal(2, 0.1),
    "deep": tacit.Diagonal(3, 0.3, profile=np.linspace(0.5, 2, D)),
    "untied": tacit.UntiedDiagonal(0.1, 0.5),
    "biased": tacit.UntiedDiagonal.from_weights(*RNG.standard_normal((4, D))),
    "three layers": tacit.UntiedDiagonal.from_layers([0.2, 0.3, 0.4]),
    "biased layers": tacit.UntiedDiagonal.from_layers(
        RNG.standard_normal((4, D)), RNG.standard_normal((4, D))
    ),
    "neuron": tacit.Neuron.from_scale(0.3, 0.5, DIRECTION),
    "leaky": tacit.Neuron.from_scale(0.3, 0.5, DIRECTION, slope=0.3),
    "gaussian": tacit.LinearNetwork.gaussian(D, 10),
    "balanced": tacit.LinearNetwork.balanced(0.3 * DIRECTION, X, 8),
    "orthogonal": tacit.LinearNetwork.orthogonal(X, 10),
    "factorization": tacit.Factorization.gaussian((2, 3), 4, 0.5),
    "guest": Twins(),
    "bare": Bare(),
    "function": function_model(D),
    "network": network(D),
}
POTENTIALS = {
    "hypentropy": potentials.Hypentropy(-4.0),
    "deep": potentials.DeepHypentropy(3.0, -4.0),
    "distance": potentials.WeightDistance(-4.0),
    "neuron": potentials.NeuronPotential(1.0),
    "cone": potentials.NeuronPotential(-1.0),
    "power": potentials.Power(1.5),
    "quadratic": potentials.Quadratic(np.arange(1.0, D + 1)),
    "matrix": potentials.Quadratic(np.diag(np.arange(1.0, D + 1)) + 0.1),
    "l1": potentials.L1(),
    "divergence": potentials.Bregman(potentials.Hypentropy(-4.0), DIRECTION),
    "of a neuron": potentials.Bregman(potentials.NeuronPotential(1.0), DIRECTION),
    "guest": Cosh(),
    "guest matrix": Coupled(),
    "guest network": ArcSine(-4.0),
    "guest divergence": potentials.Bregman(Cosh(), DIRECTION),
}
MATRIX_POTENTIALS = {
    "spectral": potentials.Spectral(potentials.Hypentropy(-4.0)),
    "spectral deep": potentials.Spectral(potentials.DeepHypentropy(3.0, -4.0)),
    "spectral quadratic": potentials.Spectral(potentials.Quadratic()),
    "spectral guest": potentials.Spectral(Cosh()),
    "nuclear": potentials.Nuclear(),
}
LOSSES = {
    "square": Square(),
    "exp": Exponential(),
    "logistic": Logistic(),
    "guest of margins": Tempered(),
    "guest of residuals": Quartic(),
}
REFUSED = {  # (verb, model); all other combinations work
    *(("limit", name) for name in ("gaussian", "factorization", "bare", "function", "network")),
    *(("regime", name) for name in ("gaussian", "bare", "function", "network")),
    *(("certify", name) for name in ("gaussian", "factorization", "bare", "function", "network")),
    *(("certify", name) for name in ("orthogonal",)),
    *(("widest", name) for name in ("neuron", "leaky", "gaussian", "balanced", "orthogonal")),
    *(("widest", name) for name in ("factorization", "bare", "function", "network")),
    *(("path", name) for name in ("biased", "neuron", "leaky", "gaussian", "balanced", "orthogonal")),
    *(("path", name) for name in ("three layers", "biased layers")),
    *(("path", name) for name in ("factorization", "bare", "function", "network")),
}
VERBS = {
    "limit": lambda model, X: tacit.limit(model, X, Y),
    "flow": lambda model, X: tacit.flow(model, X, Y, until=5.0),
    "tangent": lambda model, X: tacit.flow(model, X, Y, at=AT, linearized=True),
    "classes": lambda model, X: tacit.flow(model, X, LABELS, loss="exp", at=AT),
    "regime": lambda model, X: tacit.regime(model, X, Y),
    "certify": lambda model, X: tacit.certify(model, X, Y, DIRECTION),
    "widest": lambda model, X: tacit.max_margin(X, LABELS, model),
    "path": lambda model, X: tacit.margin_path(X, LABELS, [1.0, 0.1], model=model),
}


def inputs(model):
    return MATRICES if model.input_ndim == 3 else pd.DataFrame(X, columns=NAMES)


def same(one, other):
    """Equal as JSON, except for computing times."""
    one, other = ({k: v for k, v in each.to_dict().items() if k != "seconds"} for each in (one, other))
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def check_result(result, tmp_path=None):
    """Call every method of a result; its picture is drawn, and written if a folder is given."""
    assert isinstance(result.summary(), str) and result.summary()
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert type(result).__name__ in repr(result) or repr(result).startswith(type(result).__name__)
    assert same(pickle.loads(pickle.dumps(result)), result)
    if hasattr(result, "status"):
        good = getattr(result, "holds", np.all(getattr(result, "converged", True)))
        assert isinstance(result.status, tacit.Status) and (result.status == "reached") == bool(good)
        assert result.to_dict()["status"] == result.status.value and isinstance(result.reason, str)
    if not hasattr(result, "plot"):
        assert not any(isinstance(each, np.ndarray) for each in vars(result).values())
        return
    data = result.to_xarray()
    assert "Tacit" in data.attrs["made_by"] and len(data.data_vars)
    if tmp_path is None:
        assert isinstance(result.plot(), Figure)
    else:
        assert result.plot(tmp_path / "result.svg").read_text().startswith("<?xml")


@pytest.mark.every(18)
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", MODELS)
def test_models(name, verb, tmp_path):
    """Pictures are written for one model only, because their content does not depend on the file."""
    model = MODELS[name]
    assert model.describe() and repr(model) and isinstance(model.conserved(), dict)
    if (verb, name) in REFUSED:
        with pytest.raises(tacit.TacitError):
            VERBS[verb](model, inputs(model))
        return
    check_result(VERBS[verb](model, inputs(model)), tmp_path if name == "diagonal" else None)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", POTENTIALS)
def test_potentials(name):
    Q = POTENTIALS[name]
    found = tacit.limit(Q, pd.DataFrame(X, columns=NAMES), Y)
    assert found.converged and tacit.certify(Q, X, Y, found.predictor).holds
    check_result(found)
    if name in ("of a neuron",):
        with pytest.raises(tacit.NoPotentialError, match="no maximum-margin solver"):
            tacit.max_margin(X, LABELS, Q)
        return
    margin = tacit.max_margin(X, LABELS, Q)
    assert margin.converged and tacit.certify(Q, X, LABELS, margin.predictor, problem="margin").holds
    check_result(margin)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", MATRIX_POTENTIALS)
def test_potentials_of_matrices(name, tmp_path):
    Q = MATRIX_POTENTIALS[name]
    found = tacit.limit(Q, MATRICES, Y)
    assert found.converged and tacit.certify(Q, MATRICES, Y, found.predictor).holds
    assert found.regime.name in {"kernel", "intermediate", "rich"}
    check_result(found, tmp_path)
    with pytest.raises(tacit.NoPotentialError, match="no solver"):
        tacit.max_margin(X, LABELS, Q)


def test_the_limit_of_a_factorization(tmp_path):
    """For commuting measurements and any weights."""
    diagonal = np.array([np.eye(2, 3), np.diag([1.0, -2.0]) @ np.eye(2, 3)])
    found = tacit.limit(MODELS["factorization"], diagonal, [1.0, 2.0])
    assert found.converged and "commute" in found.method
    check_result(found, tmp_path)


@pytest.mark.every(7)
@pytest.mark.parametrize("method", ["auto", "parameters", "descent", "linearized"])
@pytest.mark.parametrize("model", ["diagonal", "leaky", "gaussian", "function", "network"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name, model, method):
    loss = LOSSES[name]
    options = {"linearized": True} if method == "linearized" else {"method": method}
    y = LABELS if loss.separating else Y
    run = tacit.flow(MODELS[model], X, y, loss=loss, at=[1.0, 1.5, 2.0], **options)
    assert run.converged and run.accuracy[-1] >= 2.0 - 1e-6 and loss.name in run.summary()
    assert (np.diff(run.accuracy) > -1e-7).all()


@pytest.mark.parametrize("verb", ["limit", "flow", "widest", "path"])
def test_names_of_features_are_kept(verb):
    result = VERBS[verb](tacit.Diagonal(2, 0.1), pd.DataFrame(X, columns=NAMES))
    assert result.features == NAMES and "feature 0" in result.summary()
    assert result.to_xarray().feature.values.tolist() == list(NAMES)
    plain = VERBS[verb](tacit.Diagonal(2, 0.1), X)
    assert plain.features is None and "x0" in plain.summary()


def test_sweeping_paths_and_stability_are_results_too(tmp_path):
    for result in (tacit.sweeping_path(X, LABELS, [1.0, 0.1]), tacit.support_stability(X, LABELS)):
        check_result(result, tmp_path)
