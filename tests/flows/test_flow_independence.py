"""Which forms of the flow use the potential Q: flows of raw weights are independent of it."""

import ast
import importlib
import inspect
import pkgutil
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit.flows import forms
from tacit.flows.form import Form
from tacit.models.diagonal import Diagonal, UntiedDiagonal
from tacit.models.layered import LayeredDiagonal

RNG = np.random.default_rng(5)
X = RNG.standard_normal((4, 9))
Y = X[:, 0] - 0.5 * X[:, 3]
LABELS = np.where(Y > 0, 1, -1)
PROFILE = np.linspace(0.5, 2.0, 9)

WRONG = {  # of the predictor's scale, of the depth, of the profile
    "scale × 7": lambda model: replace(model, scale=7 ** (1 / model.depth) * model.scale),
    "α in place of α²": lambda model: replace(model, scale=model.scale**0.5),
    "another depth": lambda model: replace(model, depth=5 - model.depth),
    "another profile": lambda model: replace(model, profile=PROFILE),
}
REQUESTS = {
    "square loss": {"y": Y},
    "with its own end": {"y": Y, "intercept": True},
    "standardized": {"y": Y, "standardize": True},
    "at times": {"y": Y, "times": [0.5, 2.0, 8.0]},
    "exponential loss": {"y": LABELS, "loss": "exp", "until": 8.0},
    "logistic loss": {"y": LABELS, "loss": "logistic", "until": 4.0},
}


@contextmanager
def planted(monkeypatch, wrong):
    """Diagonal networks with the potential of another network, and hence a wrong mirror form."""
    right = Diagonal.potential
    with monkeypatch.context() as patch:
        patch.setattr(Diagonal, "potential", lambda model, d=None: right(WRONG[wrong](model), d))
        yield


def recorded(run):
    """All fields of a trajectory except its wall time."""
    arrays = [run.accuracy, run.time, run.predictor, run.outputs, run.intercept, run.kernel_distance]
    arrays += [*run.weights.values(), *run.drifts.values()]
    words = run.steps, run.reason, run.status, run.converged, run.method, run.uses_potential, run.unfitted
    return [each.tobytes() for each in arrays], words


@pytest.mark.every(5)
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("asked", REQUESTS)
def test_a_wrong_potential_changes_mirror_forms_and_not_raw_weights(wrong, asked, monkeypatch):
    options = dict(REQUESTS[asked])
    y, model = options.pop("y"), tacit.Diagonal(depth=3 if wrong == "another depth" else 2, scale=0.2)
    right = {method: tacit.flow(model, X, y, method=method, **options) for method in ("parameters", "auto")}
    with planted(monkeypatch, wrong):
        planned = {method: tacit.flow(model, X, y, method=method, **options) for method in right}
        assert recorded(planned["parameters"]) == recorded(right["parameters"])
        ends = [run["auto"].predictor[-1] for run in (planned, right)]
    # the correct potential agrees with raw weights to 1e-6; wrong ones belong to another network
    assert np.linalg.norm(ends[0] - ends[1]) > 1e-3 * np.linalg.norm(ends[1])
    raw = right["parameters"].predictor[-1]
    np.testing.assert_allclose(ends[1], raw, atol=1e-6 * np.abs(raw).max())


@pytest.mark.parametrize("wrong", WRONG)
def test_only_raw_weights_refute_a_limit(wrong, monkeypatch):
    """Limit and mirror form are both wrong, and agree."""
    model = tacit.Diagonal(depth=3 if wrong == "another depth" else 2, scale=0.2)
    with planted(monkeypatch, wrong):
        limit = tacit.limit(model, X, Y)
        mirror = tacit.flow(model, X, Y).predictor[-1]
        raw = tacit.flow(model, X, Y, method="parameters").predictor[-1]
    size = np.linalg.norm(raw)
    assert np.linalg.norm(mirror - limit.predictor) < 1e-6 * size
    assert np.linalg.norm(raw - limit.predictor) > 1e-3 * size


def start(*shape):
    return np.random.default_rng(2).standard_normal(shape)


MATRICES = start(5, 3, 2)
MODELS = {
    "diagonal": (tacit.Diagonal(scale=0.3), X, Y),
    "deep": (tacit.Diagonal(3, 0.5, PROFILE), X, Y),
    "untied": (tacit.UntiedDiagonal(0.1, 0.5), X, Y),
    "biased": (tacit.UntiedDiagonal.from_weights(*np.abs(start(4, 9))), X, Y),
    "layered": (tacit.UntiedDiagonal.from_layers(np.abs(start(3, 9))), X, Y),
    "linear neuron": (tacit.Neuron(0.5, start(9)), X, Y),
    "leaky neuron": (tacit.Neuron(0.5, start(9), slope=0.5), X, Y),
    "network": (tacit.LinearNetwork.gaussian(9, 12, seed=0), X, Y),
    "factorization": (tacit.Factorization.gaussian((3, 2), 4, 0.3, seed=0), MATRICES, start(5)),
    "function": (tacit.model(lambda t: t[:3] * t[3:], start(6)), X[:2, :3], Y[:2]),
}
WAYS = {
    "auto": {},
    "parameters": {"method": "parameters"},
    "linearized": {"linearized": True},
    "descent": {"method": "descent", "step": 1e-3, "most_steps": 50},
}


class AskedError(Exception):
    """Raised when a potential is requested."""


def forbidden(monkeypatch):
    """Make models raise if their potential, mirror form, or anything derived from them is requested."""

    def refuse(self, d=None):
        raise AskedError

    for model in {tacit.Model, *(type(model) for model, _, _ in MODELS.values()), LayeredDiagonal}:
        for name in ("potential", "mirror_form"):
            if name in vars(model):
                monkeypatch.setattr(model, name, refuse)


@pytest.mark.every(3)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MODELS)
def test_what_is_said_of_a_form_is_so(name, way, monkeypatch):
    """Forms that do not use Q give the same numbers if models have no Q."""
    model, inputs, y = MODELS[name]
    options = WAYS[way] | {"times": [0, 0.2, 1]}
    run = tacit.flow(model, inputs, y, **options)
    assert run.uses_potential is ("mirror form of the same potential Q" in run.method)
    assert run.uses_potential is not ("independent of Q" in run.method)
    diagonal = isinstance(model, Diagonal | UntiedDiagonal | LayeredDiagonal)
    assert run.uses_potential is (way == "auto" and diagonal)
    forbidden(monkeypatch)
    if run.uses_potential:
        with pytest.raises(AskedError):
            tacit.flow(model, inputs, y, **options)
        return
    if way == "auto":  # it first requests the mirror form
        monkeypatch.setattr(tacit.Model, "mirror_form", lambda self, d: None)
    assert recorded(tacit.flow(model, inputs, y, **options)) == recorded(run)


@pytest.mark.parametrize("model", [tacit.Diagonal(scale=0.3), tacit.Neuron(0.5, np.ones(9))])
def test_every_result_says_what_it_knows(model):
    run = tacit.flow(model, X, Y)
    said = run.method.partition(": ")[2]
    assert said in run.summary()
    assert run.to_dict()["uses_potential"] is run.uses_potential
    assert run.to_dict()["method"] == run.method == run.to_xarray().attrs["method"]
    assert run.to_xarray().attrs["uses_potential"] == int(run.uses_potential)


FORMS = [
    kind
    for module in pkgutil.iter_modules(forms.__path__)
    for kind in vars(importlib.import_module(f"tacit.flows.forms.{module.name}")).values()
    if inspect.isclass(kind) and issubclass(kind, Form) and not inspect.isabstract(kind)
]


def test_every_form_says_what_it_knows():
    """Concrete forms, without abstract base classes."""
    flow = ast.parse(inspect.getsource(importlib.import_module("tacit.verbs.flow")))
    names = {node.id for node in ast.walk(flow) if isinstance(node, ast.Name)}
    made = {kind for kind in FORMS if kind.__name__ in names}
    assert len(made) == 13
    assert all(kind.premise.description for kind in made)
    assert {kind.__name__ for kind in made if kind.premise.uses_potential} == {"DualSquare", "DualSeparating"}


def test_forms_that_use_no_potential_import_none():
    """Imports nothing from `tacit.potentials` except its array module, and no mirror map."""
    said = {kind.__module__ for kind in FORMS if hasattr(kind, "premise") and not kind.premise.uses_potential}
    own = said | {"tacit.flows.forms.weights"}
    own -= {"tacit.flows.forms.tangent"}  # shares the clock of separating losses with mirror forms
    assert len(own) >= 6
    for module in own:
        tree = ast.parse(Path(importlib.import_module(module).__file__).read_text(encoding="utf-8"))
        found = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not {each for each in found if "potentials" in each} - {"tacit.potentials.arrays"}
        assert not {each for each in found if each.endswith((".mirror", ".dual", ".separating"))}
