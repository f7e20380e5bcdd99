"""The public interface: names, arguments and results."""

import dataclasses
import inspect
import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from oracles import gaussian_problem

import tacit
from tacit import potentials

pytestmark = pytest.mark.any_cpu

VERBS = [
    "audit",
    "certify",
    "closed_form",
    "check",
    "decay_path",
    "derive",
    "descend",
    "explain",
    "flow",
    "limit",
    "limits",
    "margin_path",
    "margin_paths",
    "max_margin",
    "observed",
    "prepare",
    "probe",
    "regime",
    "risk",
    "saddle_path",
    "support_stability",
    "sweep",
    "sweeping_path",
]
CLASSES = [
    "Certificate",
    "Derivation",
    "Diagonal",
    "Limit",
    "Limits",
    "Regime",
    "Trajectory",
    "UntiedDiagonal",
]
CLASSES += [
    "Factorization",
    "LinearNetwork",
    "Margin",
    "MarginPath",
    "MarginPaths",
    "Neuron",
    "Prepared",
    "Stability",
]
CLASSES += ["Monitor", "Network", "Probe", "ProbeSweep", "Status", "SweepingPath", "SymmetricFactorization"]
CLASSES += ["Audit", "DecayPath", "Explanation", "Risk", "Run", "SaddlePath", "Training", "Verdicts"]
REFUSALS = ["InconsistentDataError", "InputError", "NoPotentialError", "NotSeparableError"]
ERRORS = [
    *REFUSALS,
    "MissingDataError",
    "MissingDeviceError",
    "MissingPackageError",
    "NoClosedFormError",
    "NotConvergedError",
    "OutsideDomainError",
    "TacitError",
]
PUBLIC = sorted([*VERBS, *CLASSES, *ERRORS, "Interrupted", "Model", "losses", "model", "potentials"])
POTENTIALS = ["L1", "Bregman", "DeepHypentropy", "DiagonalPotential", "Entropy", "Hypentropy"]
POTENTIALS += ["NeuronPotential", "Nuclear", "Potential", "Power", "Quadratic", "Spectral", "WeightDistance"]
MODELS = {
    "tied": tacit.Diagonal(2, 0.1),
    "deep": tacit.Diagonal(3, 0.3, profile=np.linspace(0.5, 2, 12)),
    "untied": tacit.UntiedDiagonal(0.1, 0.5),
    "biased": tacit.UntiedDiagonal.from_weights(*np.random.default_rng(0).standard_normal((4, 12))),
}


@pytest.fixture(scope="module")
def problem():
    return gaussian_problem(5, 12, nonzero=2, seed=3)


@pytest.fixture(scope="module", params=MODELS)
def result(request, problem):
    return tacit.limit(MODELS[request.param], *problem)


def test_public_names_are_these():
    assert tacit.__all__ == PUBLIC
    assert potentials.__all__ == POTENTIALS
    assert set(dir(tacit)) == {*PUBLIC, "estimators", "theorems", "warping", "__version__"}
    for name in PUBLIC:
        assert getattr(tacit, name) is not None
    with pytest.raises(AttributeError, match="module 'tacit' has no attribute 'nothing'"):
        tacit.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("function", "signature"),
    [
        (tacit.limit, "model, X, y, *, tol, intercept, standardize, least_squares, training, device"),
        (tacit.limits, "models, X, y, *, tol, device"),
        (tacit.regime, "model, X, y"),
        (tacit.sweep, "function, grid, *, store, executor, seed"),
        (tacit.max_margin, "X, y, norm, *, intercept, standardize"),
        (tacit.margin_path, "X, y, mu, *, depth, model, intercept, standardize"),
        (tacit.sweeping_path, "X, y, mu, *, depth, model"),
        (tacit.decay_path, "model, X, y, decay, *, X_test, y_test, times"),
        (tacit.explain, "X, y, w, *, depths"),
        (tacit.risk, "model, signal, noise, samples, *, draws, seed"),
        (tacit.saddle_path, "X, y, *, depth, profile, intercept, standardize"),
        (tacit.support_stability, "X, y, *, depth, model, down_to"),
        (
            tacit.flow,
            "model, X, y, *, loss, until, at, times, rtol, linearized, method, step, most_steps, "
            "intercept, standardize",
        ),
        (tacit.Neuron, "output, weights, slope"),
        (tacit.Neuron.from_scale, "scale, shape, direction, sign, slope"),
        (tacit.LinearNetwork, "inner, outer"),
        (
            tacit.LinearNetwork.gaussian,
            "features, width, outputs, std, std_inner, std_outer, seed",
        ),
        (tacit.LinearNetwork.balanced, "theta, X, width, seed"),
        (tacit.LinearNetwork.orthogonal, "X, width, outputs, seed"),
        (tacit.Factorization, "left, right"),
        (tacit.Factorization.gaussian, "shape, width, scale, seed"),
        (tacit.SymmetricFactorization, "weights"),
        (tacit.SymmetricFactorization.gaussian, "d, width, scale, seed"),
        (tacit.observed, "matrix"),
        (tacit.descend, "model, X, y, training, *, until, max_steps, seed, batches"),
        (tacit.audit, "weights, X"),
        (
            tacit.Training,
            "step, momentum, nesterov, batch, decay, decay_time, label_noise, noise_steps",
        ),
        (tacit.derive, "parametrization, theta0, *, samples, seed, radius, candidates"),
        (tacit.certify, "potential, X, y, predictor, *, problem, tol"),
        (tacit.Diagonal, "depth, scale, profile, log_scale"),
        (tacit.UntiedDiagonal.from_layers, "plus, minus"),
        (tacit.UntiedDiagonal.from_weights, "u_plus, v_plus, u_minus, v_minus"),
    ],
)
def test_arguments_are_called_what_the_contract_calls_them(function, signature):
    parameters = list(inspect.signature(function).parameters.values())
    free = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    named = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    assert ", ".join([*free, "*", *named] if named else free) == signature


def test_every_failure_is_a_tacit_error_and_bad_input_is_a_value_error():
    errors = [getattr(tacit, name) for name in ERRORS]
    assert all(issubclass(error, tacit.TacitError) for error in errors)
    assert [error for error in errors if issubclass(error, ValueError)] == [
        tacit.InputError,
        tacit.MissingDeviceError,
        tacit.MissingPackageError,
    ]


def public_objects():
    for home, names in ((tacit, PUBLIC), (potentials, POTENTIALS)):
        for name in names:
            item = getattr(home, name)
            yield name, item
            if inspect.isclass(item):
                yield from (pair for pair in inspect.getmembers(item) if not pair[0].startswith("_"))


def test_every_public_object_has_a_docstring_of_its_own():
    """The representation that `dataclass` generates, "Name(field, …)", does not count."""
    for name, item in public_objects():
        if callable(item) or isinstance(item, property) or inspect.ismodule(item):
            text = inspect.getdoc(item)
            assert text, name
            assert not text.startswith(f"{name}("), name


def test_importing_tacit_loads_nothing_that_only_files_figures_or_flows_need():
    heavy = ("jax", "matplotlib", "pandas", "xarray", "pyarrow", "rich", "sklearn")
    code = f"import sys, tacit; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (run.stdout.strip(), run.stderr) == ("[]", "")


def test_results_are_plain_float64_arrays_and_plain_numbers(result, problem):
    X, y = problem
    certificate = tacit.certify(result.model, X, y, result.predictor)
    kernel, start = result.model.tangent_kernel(X), result.model.predictor()
    conserved = result.model.conserved().values()
    for array in (result.predictor, result.dual, certificate.dual, kernel, start, *conserved):
        assert type(array) is np.ndarray
        assert array.dtype == np.float64
    assert (result.predictor.shape, result.dual.shape, kernel.shape) == ((12,), (5,), (5, 5))
    for name in ("value", "feasibility", "stationarity", "seconds"):
        assert type(getattr(result, name)) is float
    assert (type(result.converged), type(result.iterations), type(certificate.holds)) == (bool, int, bool)


def test_results_are_frozen(result, problem):
    certificate = tacit.certify(result.model, *problem, result.predictor)
    fields = {result: "value", certificate: "tol", result.regime: "name", result.model: "scale"}
    for frozen, name in fields.items():
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(frozen, name, 0)


def test_a_limit_survives_json(result):
    content = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert content["predictor"] == result.predictor.tolist()
    assert content["dual"] == result.dual.tolist()
    assert content["regime"]["name"] == result.regime.name
    assert {"value", "feasibility", "stationarity", "converged", "iterations"} <= content.keys()


def test_a_regime_is_its_name(result, problem):
    regime = tacit.regime(result.model, *problem)
    assert regime == regime.name == result.regime == str(regime)
    assert regime != "no regime"
    assert hash(regime) == hash(regime.name)
    assert regime.name in {"kernel", "rich", "intermediate", "anti-kernel"}


@pytest.mark.parametrize("name", ["L1", "Quadratic", "Hypentropy"])
def test_the_limit_of_a_potential_can_be_shown_and_saved_too(name, problem):
    potential = potentials.Hypentropy(0.0) if name == "Hypentropy" else getattr(potentials, name)()
    result = tacit.limit(potential, *problem)
    assert name in result.summary()
    assert json.loads(json.dumps(result.to_dict()))["predictor"] == result.predictor.tolist()


def test_the_same_question_has_the_same_answer_to_the_last_bit(result, problem):
    np.testing.assert_array_equal(tacit.limit(result.model, *problem).predictor, result.predictor)


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


FORMS = {
    "lists": lambda a: a.tolist(),
    "tuples": lambda a: tuple(map(tuple, a)) if a.ndim == 2 else tuple(a),
    "pandas": lambda a: pd.DataFrame(a) if a.ndim == 2 else pd.Series(a, index=range(10, 10 + len(a))),
    "pandas objects": lambda a: pd.DataFrame(a, dtype=object) if a.ndim == 2 else pd.Series(a, dtype=object),
    "read-only": read_only,
    "Fortran order": np.asfortranarray,
    "reversed strides": lambda a: a[::-1].copy()[::-1],
    "y as a column": lambda a: a if a.ndim == 2 else a[:, None],
    "big-endian": lambda a: a.astype(">f8"),
    "float32": lambda a: a.astype(np.float32),
    "float16": lambda a: a.astype(np.float16),
    "integers": lambda a: a.astype(int),
    "truths": lambda a: a > 0,
}


@pytest.mark.parametrize("form", FORMS)
def test_whatever_numpy_understands_is_accepted(form, problem):
    X, y = (np.round(10 * array) for array in problem)
    given_X, given_y = FORMS[form](X), FORMS[form](y)
    plain_X, plain_y = np.array(given_X, dtype=float), np.array(given_y, dtype=float).reshape(-1)
    model = tacit.Diagonal(2, 0.1)
    expected = tacit.limit(model, plain_X, plain_y)
    np.testing.assert_allclose(tacit.limit(model, given_X, given_y).predictor, expected.predictor, rtol=1e-9)
    assert tacit.regime(model, given_X, given_y).name == expected.regime.name
    w = expected.predictor
    given_w = FORMS[form](w) if form in ("lists", "tuples", "pandas", "read-only") else w
    assert tacit.certify(model, given_X, given_y, given_w).holds
    np.testing.assert_allclose(model.tangent_kernel(given_X), 0.08 * plain_X @ plain_X.T, rtol=1e-12)


@pytest.mark.parametrize("depth", [2, 3])
def test_data_that_say_nothing_leave_the_predictor_where_it_started(depth):
    result = tacit.limit(tacit.Diagonal(depth, 0.1), np.zeros((2, 3)), np.zeros(2))
    assert result.converged
    np.testing.assert_array_equal(result.predictor, np.zeros(3))


@pytest.mark.parametrize("depth", [2, 2.5, 3, 8])
@pytest.mark.parametrize("log_scale", [-1000, 1000])
def test_scales_beyond_the_float_range_are_accepted(problem, depth, log_scale):
    """At large scales the limit is the kernel end, the minimum-ℓ2-norm solution."""
    X, y = problem
    result = tacit.limit(tacit.Diagonal(depth, log_scale=log_scale), X, y)
    assert result.feasibility < 1e-10
    if log_scale > 0:
        np.testing.assert_allclose(result.predictor, np.linalg.pinv(X) @ y, rtol=1e-9)


SIZES = {"tiny data": (1e-310, 1e-310), "tiny targets": (1, 1e-310), "huge targets": (1, 1e300)}
SIZES |= {"huge X": (1e200, 1), "tiny X": (1e-200, 1), "unequal rows": (np.logspace(-10, 10, 5)[:, None], 1)}


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("sizes", SIZES)
def test_no_limit_is_called_converged_without_a_certificate(problem, sizes, depth):
    """No data cause a warning, and a result that does not fit the data is not reported as converged."""
    X, y = (size * array for size, array in zip(SIZES[sizes], problem, strict=True))
    result = tacit.limit(tacit.Diagonal(depth, 0.1), X, y)
    certified = result.feasibility <= 1e-3 and result.stationarity <= 1e-3
    assert certified or not result.converged
    assert result.converged or sizes != "tiny data"  # tiny data are fitted in any units


def test_neither_the_inputs_nor_what_came_of_them_change(problem):
    X, y, profile = problem[0].copy(), problem[1].copy(), np.ones(12)
    weights = np.random.default_rng(1).standard_normal((4, 12))
    given = (X, y, profile, weights)
    before = [array.copy() for array in given]
    model = tacit.Diagonal(2, 0.1, profile=profile)
    result = tacit.limit(model, X, y)
    for other in (tacit.Diagonal(4, 1e-3, profile=profile), tacit.UntiedDiagonal.from_weights(*weights)):
        tacit.certify(other, X, y, tacit.limit(other, X, y).predictor)
    for array, copy in zip(given, before, strict=True):
        np.testing.assert_array_equal(array, copy)
    X[:], y[:], profile[:] = 1.0, 1.0, 3.0  # the user changes the arrays afterwards
    expected = tacit.limit(tacit.Diagonal(2, 0.1), *problem).regime
    assert result.regime.distance_to_rich == pytest.approx(expected.distance_to_rich, rel=1e-9)
    np.testing.assert_array_equal(model.conserved()["power mean of w₊ and w₋"], np.full(12, 0.1))


def test_modules_that_few_need_are_there_on_first_use():
    code = "import sys, tacit; print('tacit.theorems' in sys.modules); tacit.theorems.check, tacit.warping"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
    assert {"theorems", "warping"} <= set(dir(tacit))
    with pytest.raises(AttributeError, match="has no attribute 'theorem'"):
        getattr(tacit, "theorem")  # noqa: B009


def test_arguments_of_public_functions_have_types():
    """Arrays are annotated as ArrayLike and models as Model; Any is for objects of other packages only."""
    others = {("closed_form", "predictor"), ("closed_form", "parameters"), ("closed_form", "start")}
    for name in tacit.__all__:
        found = getattr(tacit, name)
        if inspect.isfunction(found):
            for argument, kind in inspect.get_annotations(found).items():
                plain = re.sub(r"Callable\[\[Any\], Any\]", "", str(kind))
                assert "Any" not in plain or (name, argument) in others, (name, argument, kind)
