"""Pickled, copied and deep-copied results behave like the originals, for every public function."""

import copy
import functools
import multiprocessing
import operator
import pickle
import re
import tempfile
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pandas as pd
import pytest
from guests import ArcSine, Bare, Cosh, Quartic, Tempered, Twins, function_model, network, squares

import tacit
from tacit import errors, losses, potentials
from tacit.autodiff import jax
from tacit.derivation.derive import cost
from tacit.papers import figures, reproduce

pytestmark = pytest.mark.any_cpu

D = 6
RNG = np.random.default_rng(5)
X = RNG.standard_normal((4, D))
TABLE = pd.DataFrame(X, columns=[f"gene {i}" for i in range(D)])
Y = X[:, :2] @ [1.0, -0.5]
LABELS = np.array([1.0, -1.0, 1.0, -1.0])
PAIR, ONE = X[:1, :2], Y[:1]
START = np.array([1.0, 0.8, 0.5, 0.7])
WAYS = {
    "pickle": lambda result: pickle.loads(pickle.dumps(result)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
NEW = np.linspace(-1, 1, 3 * D).reshape(3, D)
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
TRAINING = tacit.Training(0.02, momentum=0.5)
W = np.array([0.6, 0.3])  # a predictor in the domain of the derived potential


@jax.jit
def compiled_squares(theta):
    """A callable that can be imported by name but is not a plain function."""
    return squares(theta)


def softmax(theta):
    """A map whose image lies in a plane."""
    return jax.nn.softmax(theta)


class Scaled:
    """A parametrization that is an object."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, theta):
        return self.factor * squares(theta)


def derived(function=squares):
    return tacit.derive(function, START, candidates=[lambda t: t[0] * t[2]])


def formula():
    sympy = pytest.importorskip("sympy")
    a, b = sympy.symbols("a b", positive=True)
    return tacit.closed_form([a**2 - b**2], [a, b], [1, 1])


def monitor():
    with tacit.Monitor(network(D), X, share=None) as found:
        for step in range(3):
            found.record(step, {"W": np.full((D, 5), 0.1 * step), "v": np.ones(5)}, loss=1.0 / (step + 1))
    return found


def estimators():
    sk = pytest.importorskip("tacit.estimators")
    regressor, classifier = sk.FlowRegressor(scale=0.1), sk.FlowClassifier(scale=0.1)
    return regressor.fit(TABLE, Y), classifier.fit(TABLE, LABELS)


def selected():
    """Estimators that choose their scale."""
    sk = pytest.importorskip("tacit.estimators")
    X = np.vstack([TABLE, np.random.default_rng(6).standard_normal((14, D))])
    y = X[:, 0] - 0.5 * X[:, 1]
    return sk.FlowRegressorCV(cv=3).fit(X, y), sk.FlowClassifierCV(cv=3).fit(X, np.sign(y))


def reproduced():
    with tempfile.TemporaryDirectory() as folder:
        return reproduce(figures("woodworth2020/fig2")[0], out=folder)


def normalized():
    return tacit.derive(softmax, [0.3, -0.2, 0.1])


def matrices():
    return tacit.observed([[1.0, np.nan, 2.0], [2.0, 1.0, np.nan]])


def completed():
    commuting = np.array([np.eye(2, 3), np.diag([1.0, -2.0]) @ np.eye(2, 3)])
    return tacit.limit(tacit.Factorization.gaussian((2, 3), 4, 0.5), commuting, [1.0, 2.0])


def descent():
    """A run and its prediction, which states how long it took: two predictions would differ in that."""
    found = tacit.descend(tacit.Diagonal(2, 0.5), TABLE, Y, TRAINING, until=1e-6)
    assert found.prediction.converged
    return found


RESULTS = {
    "limit": lambda: tacit.limit(tacit.Diagonal(2, 0.1), TABLE, Y),
    "limit in units": lambda: tacit.limit(tacit.Diagonal(2, 0.1), X, Y, intercept=True, standardize=True),
    "limits": lambda: tacit.limits([tacit.Diagonal(2, 0.1), tacit.Diagonal(3, 0.5)], TABLE, Y),
    "regime": lambda: tacit.regime(tacit.Diagonal(3, 0.1), X, Y),
    "flow": lambda: tacit.flow(tacit.Diagonal(2, 0.1), TABLE, Y, until=5.0),
    "interrupted flow": lambda: errors.Interrupted(made("flow")),
    "flow of classes": lambda: tacit.flow(tacit.Diagonal(2, 0.1), X, LABELS, loss="exp", until=3.0),
    "margin": lambda: tacit.max_margin(TABLE, LABELS, "l1"),
    "margin path": lambda: tacit.margin_path(TABLE, LABELS, [1.0, 0.1]),
    "margin paths": lambda: tacit.margin_paths(np.array([TABLE, TABLE]), LABELS, [1.0, 0.1]),
    "decay path": lambda: tacit.decay_path(tacit.Diagonal(2, 2.0), TABLE, Y, 0.1, X_test=X, y_test=Y),
    "explanation": lambda: tacit.explain(TABLE, Y, np.linalg.pinv(X) @ Y),
    "run": descent,
    "audit": lambda: tacit.audit([*made("run").weights.values()], TABLE),
    "audited model": lambda: made("audit").model,
    "effective model": lambda: made("run").effective,
    "limit of training": lambda: tacit.limit(tacit.Diagonal(2, 0.5), TABLE, Y, training=TRAINING),
    "risk": lambda: tacit.risk(tacit.Diagonal(2, 0.5), np.ones(D), 0.5, 3, draws=2),
    "saddle path": lambda: tacit.saddle_path(TABLE, Y, intercept=True),
    "average of a saddle path": lambda: made("saddle path").average(2.0),
    "events of a saddle path": lambda: made("saddle path").events,
    "sweeping path": lambda: tacit.sweeping_path(X, LABELS, [1.0, 0.1]),
    "stability": lambda: tacit.support_stability(X, LABELS),
    "certificate": lambda: tacit.certify(tacit.Diagonal(2, 0.1), X, Y, np.linspace(-1, 1, D)),
    "prepared": lambda: tacit.prepare(TABLE),
    "entries": matrices,
    "verdicts": lambda: tacit.check(tacit.Diagonal(2, 0.1), X, Y, only="woodworth2020"),
    "verdict": lambda: tacit.theorems.check("woodworth2020/theorem1", tacit.Diagonal(2, 0.1), X, Y),
    "theorems": lambda: tacit.theorems.theorems(),
    "derivation": derived,
    "derived model": lambda: derived().model,
    "derived potential": lambda: derived().potential,
    "probe": lambda: tacit.probe(network(D), X, Y),
    "probe sweep": lambda: tacit.probe(network(D), X, Y).sweep([0.5, 1.0]),
    "monitor": monitor,
    "figure": lambda: figures("woodworth2020/fig2")[0],
}
MORE = {  # these take seconds, mostly for compilation
    "flow of a network": lambda: tacit.flow(network(D), X, Y, at=[1.0, 2.0]),
    "limit of a network": lambda: tacit.limit(tacit.LinearNetwork.orthogonal(X, 10), X, Y),
    "limit of matrices": completed,
    "limit of a derived model": lambda: tacit.limit(derived().model, PAIR, ONE),
    "flow of weights": lambda: tacit.flow(
        tacit.Diagonal(2, 0.5), X, Y, until=3.0, method="parameters", at=[2.0, 3.0]
    ),
    "flow of matrices": lambda: tacit.flow(
        tacit.Factorization.gaussian((2, 3), 3, 0.5), *matrices(), at=[1.0, 2.0]
    ),
    "flow of a function": lambda: tacit.flow(function_model(D), X, Y, at=[1.0, 2.0]),
    "linearized flow": lambda: tacit.flow(network(D), X, Y, at=[1.0, 2.0], linearized=True),
    "flow of a derived model": lambda: tacit.flow(derived().model, PAIR, ONE, at=[2.0, 3.0]),
    "margin of a quasi-norm": lambda: tacit.max_margin(X, LABELS, 0.7),
    "margin of a model": lambda: tacit.max_margin(X, LABELS, tacit.Diagonal(2, 0.1), intercept=True),
    "verdicts, all": lambda: tacit.check(tacit.Diagonal(2, 0.1), X, LABELS, anyway=True),
    "verdicts, refused": lambda: tacit.check(tacit.LinearNetwork.gaussian(D, 10), X, np.exp(Y)),
    "derivation, warped": lambda: tacit.derive(lambda t: t[0] * t[1:], [1.0, 0.3, 0.2]),
    "derivation, none": lambda: tacit.derive(lambda t: t[:2] * t[2:] + t[::2] ** 2, START),
    "derivation of a compiled function": lambda: derived(compiled_squares),
    "derivation of an object": lambda: derived(Scaled(2.0)),
    "derivation of a partial": lambda: derived(functools.partial(operator.mul, 2.0)),
    "derivation of a dict": lambda: tacit.derive(lambda t: t["a"] * t["b"], {"a": W, "b": START[:2]}),
    "derivation in a plane": normalized,
    "potential in a plane": lambda: normalized().potential,
    "derivation, undecided": lambda: tacit.derive(lambda t: t[0] * t[1:], [0.0, 1.0, 2.0]),
    "conserved quantity": lambda: derived().conserved[0],
    "cost of a derivation": lambda: cost(squares, START),
    "closed form": formula,
    "potential of a formula": lambda: formula().potential,
    "probe of a lambda": lambda: tacit.probe(
        tacit.Network(lambda v, X: X @ v["v"] ** 2, {"v": np.full(D, 0.3)}), X, Y
    ),
    "estimators": estimators,
    "estimators that choose": selected,
    "range of scales": lambda: pytest.importorskip("tacit.estimators").ScaleRange(rich=0.1, kernel=2.0),
    "reproduction of a figure": reproduced,
    "verdicts, all papers": lambda: tacit.check(tacit.Diagonal(2, 0.1), X, Y),
}
ASKED = {
    **dict.fromkeys(("value", "gradient", "hessian"), W),
    **dict.fromkeys(("predict", "predict_proba", "decision_function"), NEW),
    "tangent_kernel": X,
}
THINGS = {
    "diagonal": tacit.Diagonal(3, log_scale=-1000.0, profile=np.linspace(0.5, 2, D)),
    "untied": tacit.UntiedDiagonal(0.1, np.linspace(-0.5, 0.5, D)),
    "layers": tacit.UntiedDiagonal.from_layers([0.2, 0.3, 0.4]),
    "neuron": tacit.Neuron.from_scale(0.3, 0.5, np.arange(1.0, D + 1), slope=0.3),
    "linear network": tacit.LinearNetwork.balanced(np.linspace(-1, 1, D), X, 8),
    "factorization": tacit.Factorization.gaussian((2, 3), 4, 0.5),
    "symmetric factorization": tacit.SymmetricFactorization(0.1 * np.eye(2)),
    "function": function_model(D),
    "function without a name": tacit.model(lambda t: t**2, np.ones(D)),
    "network": network(D),
    "guest": Twins(),
    "bare guest": Bare(),
    "hypentropy": potentials.Hypentropy(-4.0),
    "deep hypentropy": potentials.DeepHypentropy(3.0, -4.0),
    "distance": potentials.WeightDistance(-4.0),
    "neuron's potential": potentials.NeuronPotential(1.0),
    "power": potentials.Power(1.5),
    "quadratic": potentials.Quadratic(np.arange(1.0, D + 1)),
    "entropy": potentials.Entropy(np.arange(1.0, D + 1)),
    "l1": potentials.L1(),
    "divergence": potentials.Bregman(potentials.Hypentropy(-4.0), np.linspace(-1, 1, D)),
    "spectral": potentials.Spectral(potentials.Hypentropy(-4.0)),
    "nuclear": potentials.Nuclear(),
    "guest's potential": Cosh(),
    "guest of a diagonal network": ArcSine(-4.0),
    "training": TRAINING,
    "status": tacit.Status.STALLED,
    "square": losses.Square("sum"),
    "exponential": losses.Exponential(),
    "logistic": losses.Logistic(),
    "cross-entropy": losses.CrossEntropy(),
    "guest of margins": Tempered(),
    "guest of residuals": Quartic(),
}
ERRORS = {
    "no potential": errors.NoPotentialError("none", potentials.L1(), 0.5, 0.25),
    "outside": errors.OutsideDomainError("outside", 0.5),
    "inconsistent": errors.InconsistentDataError("no solution", 0.25),
    "not separable": errors.NotSeparableError("mixed", np.array([0.5, 0.5])),
    **{
        name: getattr(errors, name)("words")
        for name in (
            "TacitError",
            "InputError",
            "NoClosedFormError",
            "NotConvergedError",
            "MissingDataError",
            "MissingDeviceError",
        )
    },
    "missing package": errors.MissingPackageError("words"),
}


@functools.cache
def made(name):
    return (RESULTS | MORE)[name]()


@pytest.fixture
def nothing_by_value(monkeypatch):
    """As if cloudpickle were not installed."""
    monkeypatch.setattr("tacit.pickling._BY_VALUE", ())


def attributes(thing):
    """All public attributes except methods; an error stands for an attribute that raises one."""
    for name in dir(thing):
        if name.startswith("_") or name in ("module", "theorems"):
            continue
        try:
            value = getattr(thing, name)
        except Exception as error:
            value = error
        if not callable(value) or isinstance(value, type):
            yield name, value


def check_same(one, other, where, seen):
    """Equal through all public attributes.

    Numbers that are computed on demand may differ by round-off (arrays of a copy have another memory layout
    and therefore another order of summation); 1e-12 of the largest entry is a thousand times the largest
    difference seen.
    """
    assert type(one) is type(other), where
    if isinstance(one, float) or getattr(one, "dtype", np.dtype(object)).kind in "fc":
        size = np.abs(one, where=np.isfinite(one), out=np.zeros(np.shape(one))).max(initial=0.0)
        np.testing.assert_allclose(other, one, rtol=1e-10, atol=1e-12 * size, err_msg=where)
    elif isinstance(one, np.ndarray):
        np.testing.assert_array_equal(other, one, where)
    elif isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            check_same(one[key], other[key], f"{where}[{key}]", seen)
    elif isinstance(one, BaseException):
        assert str(one) == str(other), where
        check_same(vars(one), vars(other), where, seen)
    elif type(one).__module__.split(".")[0] in ("tacit", "guests"):
        check_things(one, other, where, seen)
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for at, pair in enumerate(zip(one, other, strict=True)):
            check_same(*pair, f"{where}[{at}]", seen)
    elif hasattr(one, "identical"):
        assert one.identical(other), where
    elif not callable(one):
        assert one == other or (one != one and other != other), where


def check_things(one, other, where, seen):
    if id(one) in seen:
        return
    seen[id(one)] = one
    assert _ADDRESS.sub("", repr(one)) == _ADDRESS.sub("", repr(other)), where
    theirs = dict(attributes(other))
    for name, value in attributes(one):
        check_same(value, theirs[name], f"{where}.{name}", seen)
    for method in ("summary", "to_dict", "describe"):
        if callable(getattr(one, method, None)) and not isinstance(one, type):
            check_same(getattr(one, method)(), getattr(other, method)(), f"{where}.{method}()", seen)
    if isinstance(one, tuple):
        check_same(tuple(one), tuple(other), where, seen)
    for method, argument in ASKED.items():
        if hasattr(one, method):
            check_same(*(answer(each, method, argument) for each in (one, other)), f"{where}.{method}", seen)


def answer(thing, method, argument):
    """The value that a method returns, or the error that it raises."""
    try:
        return getattr(thing, method)(argument)
    except Exception as error:
        return error


def check_copies(thing, name):
    for way, copied in WAYS.items():
        check_same(thing, copied(thing), f"{name}, {way}", {})


@pytest.mark.parametrize("name", RESULTS)
def test_results(name):
    check_copies(made(name), name)


@pytest.mark.thorough
@pytest.mark.parametrize("name", MORE)
def test_more_results(name):
    check_copies(made(name), name)


@pytest.mark.parametrize("name", THINGS)
def test_models_potentials_and_losses(name):
    check_copies(THINGS[name], name)


@pytest.mark.parametrize("name", ERRORS)
def test_errors_keep_what_they_say_and_prove(name):
    check_copies(ERRORS[name], name)


@pytest.mark.thorough
def test_a_process_pool_returns_what_workers_found():
    """In a new process."""
    w = made("derived potential").origin + 0.1
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        verdicts = pool.submit(tacit.check, tacit.Diagonal(2, 0.1), X, Y, only="woodworth2020/theorem1")
        found = pool.submit(tacit.derive, squares, START)
        slope = pool.submit(made("derived potential").gradient, w)
        check_same(made("verdict"), verdicts.result()[0], "a verdict", {})
        assert verdicts.result().holds and found.result().name == "squares"
        expected = made("derived potential").gradient(w)
        np.testing.assert_allclose(found.result().potential.gradient(w), expected, rtol=1e-10)
        np.testing.assert_allclose(slope.result(), expected, rtol=1e-10)


def test_a_function_without_a_name_is_pickled_by_value_where_cloudpickle_is_installed():
    pytest.importorskip("cloudpickle")
    found = tacit.model(lambda t: 2.0 * t, np.ones(D))
    again = pickle.loads(pickle.dumps(found))
    assert again.function is not found.function
    np.testing.assert_array_equal(again.predictor(), found.predictor())


@pytest.mark.usefixtures("nothing_by_value")
def test_a_compiled_function_is_found_by_name():
    again = pickle.loads(pickle.dumps(tacit.model(compiled_squares, START)))
    assert again.function is compiled_squares


@pytest.mark.usefixtures("nothing_by_value")
def test_without_its_function_a_result_says_what_it_said_and_refuses_the_rest():
    found = derived(lambda t: 1.0 * squares(t))
    w = found.potential.origin + 0.1
    slope = found.potential.gradient(w)
    again = pickle.loads(pickle.dumps(found))
    again = pickle.loads(pickle.dumps(again))  # as if a pool passed on results of another pool
    assert again.summary() == found.summary() and again.to_dict() == found.to_dict()
    np.testing.assert_array_equal(again.theta0, found.theta0)
    np.testing.assert_array_equal(again.potential.gradient(w), slope)  # computed before
    missing = "the function <lambda> could not be pickled.*Define it with def at the top level of a module"
    for asked in (again.potential.gradient, again.potential.mirror):
        with pytest.raises(tacit.InputError, match=missing):
            asked(w + 0.1)
    with pytest.raises(tacit.InputError, match=missing):
        tacit.flow(again.model, PAIR, ONE)
    assert copy.deepcopy(found).potential.gradient(w + 0.1).shape == (2,)


@pytest.mark.every(4)
@pytest.mark.usefixtures("nothing_by_value")
@pytest.mark.parametrize(
    "make",
    [
        lambda: tacit.probe(tacit.Network(lambda v, X: X @ v["v"] ** 2, {"v": np.full(D, 0.3)}), X, Y),
        lambda: tacit.flow(tacit.model(lambda t: 1.0 * squares(t), np.ones(4)), PAIR, ONE, until=8.0),
        lambda: tacit.flow(
            tacit.Network(lambda v, X: X @ v["v"] ** 2, {"v": np.full(D, 0.3)}), X, Y, until=2.0
        ),
        lambda: tacit.limit(derived(lambda t: 1.0 * squares(t)).model, PAIR, ONE),
    ],
    ids=["probe", "flow of a function", "flow of a network", "limit"],
)
def test_what_was_computed_before_needs_no_function(make):
    found = make()
    again = pickle.loads(pickle.dumps(found))
    assert again.summary() == found.summary() and again.to_dict() == found.to_dict()
    if hasattr(found, "weights"):
        check_same(found.weights, again.weights, "weights", {})
        check_same(found.drift, again.drift, "drift", {})


@pytest.mark.thorough
def test_every_public_class_is_among_them():
    """This includes classes that have subclasses."""
    things = [*map(made, RESULTS | MORE), *THINGS.values(), *ERRORS.values()]
    seen = {type(each).__name__ for thing in things for each in (thing if type(thing) is tuple else (thing,))}
    seen |= {base.__name__ for thing in THINGS.values() for base in type(thing).__mro__}
    for module in (tacit, potentials, losses, tacit.estimators):
        public = {name for name in module.__all__ if isinstance(getattr(module, name), type)}
        assert public <= seen, f"{module.__name__}: {sorted(public - seen)}"
