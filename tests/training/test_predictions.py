"""limit(…, training=…) against runs, and closed forms against the data alone."""

import warnings

import numpy as np
import pytest
from scipy.integrate import quad

import tacit
from tacit import Training
from tacit.data.prepared import design_of
from tacit.training.along_flow import Integrals, integrate

X = np.array([[1, 0.5, 0.7, 0], [0.5, 1, 0.1, 0.7]])
Y = np.array([1.0, 0])


def problem(seed, N=5, d=12):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((N, d)), rng.standard_normal(N)


def distance(w, other):
    return np.linalg.norm(w - other) / np.linalg.norm(other)


def step_at(model, X, y, edge):
    """The step size at this fraction of the edge of stability of plain gradient descent."""
    return edge / (tacit.limit(model, X, y, training=Training(1e-12)).edge / 1e-12)


METHODS = {
    "gradient descent": ({}, 0.2),
    "heavy ball .5": ({"momentum": 0.5}, 0.0125),
    "heavy ball .9": ({"momentum": 0.9}, 0.001),
    "Nesterov .5": ({"momentum": 0.5, "nesterov": True}, 0.0125),
    "Nesterov .9": ({"momentum": 0.9, "nesterov": True}, 0.001),
    "decay": ({"decay": 0.1, "decay_time": 2.0}, 0.2),
}


@pytest.mark.every(3)
@pytest.mark.thorough_cases("Nesterov .9-2-0.1")  # seconds; also in the figure of momentum
@pytest.mark.parametrize(("depth", "scale"), [(2, 0.1), (3, 0.3), (4, 0.4)])
@pytest.mark.parametrize("method", METHODS)
def test_the_error_is_of_second_order_in_the_step(method, depth, scale):
    options, edge = METHODS[method]
    (X, y), model = problem(1), tacit.Diagonal(depth, scale)
    largest, errors = step_at(model, X, y, edge), []
    for part in (1, 1 / 2, 1 / 4):
        step = largest * part
        if "decay" in options:  # an exact number of steps, so that the decay ends at the same time
            step = options["decay_time"] / round(options["decay_time"] / step)
        training = Training(step, **options)
        found = tacit.limit(model, X, y, training=training)
        run = tacit.descend(model, X, y, training, until=1e-11)
        errors.append((step, distance(found.predictor, run.predictor), run.flow_error))
        assert found.order == "second order in the step" and found.converged
    steps, off, flow = np.array(errors).T
    order = np.polyfit(np.log(steps), np.log(off), 1)[0]
    assert 1.8 < order < 2.2
    assert off[-1] < flow[-1] / 20


def test_published_integrals_along_the_flow():
    """∫g² dt at depth 2, which determines the prediction for gradient descent with any small step."""
    model = tacit.Diagonal(2, 0.1)
    found = Integrals(model.weight_pair(4), X, Y, batch=None)
    assert integrate(found, found.pair, model, design_of(X, X).range) == ""
    known = [0.387200556, 0.149139871, 0.217003632, 0.077948548]
    np.testing.assert_allclose(found.J, [known, known], atol=1e-8)


def test_the_estimated_error_covers_the_real_one():
    """From 0.05 to 0.7 of the edge the estimate is 1.5 to 20 times the measured error."""
    for seed in range(4):
        (X, y), depth = problem(seed), 2 + seed % 3
        model = tacit.Diagonal(depth, 0.3)
        for edge in (0.1, 0.5):
            training = Training(step_at(model, X, y, edge))
            found = tacit.limit(model, X, y, training=training)
            run = tacit.descend(model, X, y, training)
            assert distance(found.predictor, run.predictor) < found.prediction_error < found.distance_to_flow
            assert abs(found.distance_to_flow / run.flow_error - 1) < 0.3
            assert abs(found.edge / run.edge - 1) < 1e-2


@pytest.mark.thorough
@pytest.mark.parametrize("options", [{"batch": 1}, {"batch": 2}, {"batch": 1, "momentum": 0.5}], ids=str)
@pytest.mark.parametrize("depth", [2, 3])
def test_the_mean_of_many_runs_with_batches_is_predicted(options, depth):
    (X, y), model = problem(2), tacit.Diagonal(depth, 0.3)
    training = Training(step_at(model, X, y, 0.02), **options)
    found = tacit.limit(model, X, y, training=training)
    ends = np.array([tacit.descend(model, X, y, training, seed=s).predictor for s in range(64)])
    mean, error = ends.mean(axis=0), ends.std(axis=0, ddof=1) / 8
    # Measured along the mean shift from the flow, the direction with the smallest statistical error.
    shift = found.predictor - found.trained.flow
    shift /= np.linalg.norm(shift)
    scatter = (ends @ shift).std(ddof=1) / 8
    # The next order in the step: batches see up to N/b times the sharpness of the whole data.
    later = found.edge * len(y) / options["batch"] * np.linalg.norm(found.predictor - found.trained.flow)
    assert abs((mean - found.predictor) @ shift) < 3 * scatter + later
    assert np.linalg.norm(mean - found.predictor) < 3 * np.linalg.norm(error) + later
    typical = np.mean([distance(found.predictor, w) for w in ends])
    assert typical / 3 < found.prediction_error < 6 * typical  # of single runs


def test_batches_of_one_run():
    (X, y), model = problem(2), tacit.Diagonal(2, 0.1)
    training = Training(step_at(model, X, y, 0.02), batch=1)
    found = tacit.limit(model, X, y, training=training)
    assert found.order == "leading order in the noise"
    run = tacit.descend(model, X, y, training)
    assert run.prediction_error < run.flow_error / 4
    whole = tacit.limit(model, X, y, training=Training(training.step, batch=len(y)))
    plain = tacit.limit(model, X, y, training=Training(training.step))
    np.testing.assert_allclose(whole.predictor, plain.predictor, rtol=1e-12)


@pytest.mark.parametrize(("depth", "scale"), [(2, 0.3), (3, 0.5), (4, 0.5)])
def test_flow_with_decay_that_ends_is_that_of_a_smaller_scale(depth, scale):
    """The weights are simulated by SciPy until the decay ends, then by tacit.flow."""
    from scipy.integrate import solve_ivp

    X, y = problem(3)

    def decay(t):
        return 0.1 * (1 - t / 15) ** 2

    def velocity(t, weights):
        W = weights.reshape(2, -1)
        g = X.T @ (X @ (W[0] ** depth - W[1] ** depth) - y) / len(y)
        return (-depth * np.array([g, -g]) * W ** (depth - 1) - decay(t) * W).ravel()

    start = np.full(24, scale)
    W = solve_ivp(velocity, (0, 15), start, method="LSODA", rtol=1e-11, atol=1e-13).y[:, -1].reshape(2, -1)
    later = tacit.UntiedDiagonal.from_layers([W[0]] * depth, [W[1]] * depth)
    end = tacit.flow(later, X, y, rtol=1e-11, method="parameters").predictor[-1]
    found = tacit.limit(tacit.Diagonal(depth, scale), X, y, training=Training(0, decay=decay, decay_time=15))
    assert found.order == "exact"
    assert distance(found.predictor, end) < 1e-8  # tolerances of two integrators
    same = tacit.limit(tacit.Diagonal(depth, scale * np.exp(-quad(decay, 0, 15)[0])), X, y)
    np.testing.assert_allclose(found.predictor, same.predictor, rtol=1e-12)


def test_a_published_number_with_decay():
    def decay(t):
        return 0.1 * (1 - t / 15) ** 2

    found = tacit.limit(tacit.Diagonal(3, 0.5), X, Y, training=Training(0, decay=decay, decay_time=15))
    known = (0.566646864197, -0.073989508987, 0.671925557565, -0.395037826955)
    np.testing.assert_allclose(found.predictor, known, atol=1e-11)


@pytest.mark.parametrize("penalty", [0.3, 0.02, 0.001])
def test_decay_that_stays_on_ends_at_the_lasso(penalty):
    Lasso = pytest.importorskip("sklearn.linear_model").Lasso
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 40)), rng.standard_normal(20)
    found = tacit.limit(tacit.Diagonal(2, 0.1), X, y, training=Training(0, decay=penalty))
    lasso = Lasso(alpha=penalty / 2, fit_intercept=False, tol=1e-13, max_iter=10**6).fit(X, y).coef_
    assert found.order == "exact" and found.stationarity < 1e-10 and found.unfitted > 0
    assert distance(found.predictor, lasso) < 1e-6  # the tolerance of coordinate descent
    untied = tacit.limit(tacit.UntiedDiagonal(0.1), X, y, training=Training(0, decay=penalty / 2))
    np.testing.assert_allclose(untied.predictor, found.predictor, atol=1e-12)


def test_a_run_with_decay_ends_at_the_lasso():
    X, y = problem(4, 4, 6)
    training = Training(0.05, 0.5, decay=0.1)
    run = tacit.descend(tacit.Diagonal(2, 0.3), X, y, training)
    assert run.converged and run.prediction_error < 1e-8
    assert run.prediction.order == "exact"


@pytest.mark.parametrize(
    "options",
    [{"step": 0.003}, pytest.param({"step": 0.0015, "momentum": 0.5}, marks=pytest.mark.thorough)],
    ids=str,
)
def test_label_noise_gives_every_coordinate_its_own_scale(options):
    """Within a fifth of the distance to the noiseless limit, and nearer than any uniform scale."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 10)) * np.linspace(0.5, 2, 10)
    y, model = rng.standard_normal(4), tacit.Diagonal(2, 0.3)
    training = Training(**options, batch=1, label_noise=0.5, noise_steps=100_000)
    found = tacit.limit(model, X, y, training=training)
    assert found.order == "leading order in the noise"
    run = tacit.descend(model, X, y, training)
    assert run.prediction_error < run.flow_error / 5
    scales = 0.3 * np.exp(-np.linspace(0, 5, 40))
    uniform = min(distance(tacit.limit(tacit.Diagonal(2, a), X, y).predictor, run.predictor) for a in scales)
    assert run.prediction_error < uniform / 2


def test_near_the_edge_it_warns_and_beyond_it_refuses():
    X, y = problem(1)
    model = tacit.Diagonal(2, 0.1)
    with pytest.warns(UserWarning, match="close to the edge of stability"):
        found = tacit.limit(model, X, y, training=Training(step_at(model, X, y, 0.93)))
    assert "run tacit.descend" in found.summary()
    with pytest.raises(tacit.InputError, match=r"beyond the edge of stability.*tacit\.descend"):
        tacit.limit(model, X, y, training=Training(step_at(model, X, y, 1.2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = tacit.limit(model, X, y, training=Training(step_at(model, X, y, 0.1)))
    for line in ("training", "prediction", "flow", "edge"):
        assert line in found.summary()
    assert {"order", "edge", "prediction_error", "distance_to_flow"} <= set(found.to_dict())


BAD = [
    ({"training": Training(0.1, decay=0.1)}, 3, tacit.NoPotentialError, "not convex at depth 3"),
    ({"training": Training(0.1, decay=lambda t: 0.1)}, 2, tacit.InputError, "give decay_time"),
    ({"training": Training(0.1, decay=0.1, batch=1)}, 2, tacit.NoPotentialError, "does not converge"),
    ({"training": Training(0.1, label_noise=0.1, noise_steps=9)}, 3, tacit.NoPotentialError, "depth 2 only"),
    ({"training": Training(0.1, batch=9)}, 2, tacit.InputError, "at most the number of samples, 5"),
    ({"training": 0.1}, 2, tacit.InputError, "must be a tacit.Training"),
    ({"training": Training(0.1), "intercept": True}, 2, tacit.InputError, "intercept is not available"),
    ({"training": Training(0.1), "standardize": True}, 2, tacit.InputError, "standardize is not available"),
]


@pytest.mark.parametrize(("options", "depth", "error", "message"), BAD, ids=[each[3] for each in BAD])
def test_what_is_not_known_is_refused_by_name(options, depth, error, message):
    with pytest.raises(error, match=message):
        tacit.limit(tacit.Diagonal(depth, 0.3), *problem(1), **options)


def test_other_models_and_potentials_are_refused_by_name():
    X, y = problem(1)
    with pytest.raises(tacit.InputError, match="needs a model"):
        tacit.limit(tacit.potentials.L1(), X, y, training=Training(0.1))
    with pytest.raises(tacit.NoPotentialError, match="not for Neuron"):
        tacit.limit(tacit.Neuron(1.0, np.ones(12)), X, y, training=Training(0.1))
    with pytest.raises(tacit.NoPotentialError, match="whole number"):
        tacit.limit(tacit.Diagonal(2.5, 0.3), X, y, training=Training(0.01, batch=1))
    with pytest.raises(tacit.InconsistentDataError):
        tacit.limit(tacit.Diagonal(2, 0.3), [[1.0], [1.0]], [0.0, 1.0], training=Training(0.01))


def test_plain_limits_are_exact_at_distance_zero():
    found = tacit.limit(tacit.Diagonal(2, 0.3), *problem(1))
    assert (found.order, found.edge, found.distance_to_flow, found.prediction_error) == (
        "exact",
        0.0,
        0.0,
        0.0,
    )
    assert "training" not in found.to_dict()


AREAS = [
    tacit.Diagonal(2, 0.1),
    tacit.Diagonal(3, 0.3),
    tacit.Diagonal(4, 0.5, profile=np.linspace(0.5, 2, 12)),
    tacit.UntiedDiagonal(0.1, 0.5),
    tacit.UntiedDiagonal.from_weights(0.1, 0.2, 0.3, -0.1),
    tacit.UntiedDiagonal.from_layers([0.1, 0.2, 0.3]),
]


@pytest.mark.parametrize("model", AREAS, ids=repr)
def test_the_area_under_the_loss_is_known_before_training(model):
    X, y = problem(1)
    area = tacit.limit(model, X, y).area
    weights = tacit.flow(model, X, y, rtol=1e-10, method="parameters")
    assert abs(weights.area / area - 1) < 1e-8
    assert abs(tacit.flow(model, X, y, rtol=1e-9).area / area - 1) < 1e-8


def test_the_area_of_other_losses_and_models_is_refused_by_name():
    X, y = problem(1)
    with pytest.raises(tacit.NoPotentialError, match="mirror flow"):
        _ = tacit.limit(tacit.potentials.L1(), X, y).area
    run = tacit.flow(tacit.Diagonal(), X, np.sign(y), loss="exp", until=3)
    with pytest.raises(tacit.InputError, match="square loss"):
        _ = run.area


@pytest.mark.parametrize("model", AREAS, ids=repr)
def test_fine_tuning_is_the_limit_of_a_limit(model):
    """The flow on two consecutive tasks, where the final weights of the first are the start of the second."""
    (X, y), (Z, z) = problem(1), problem(2)
    first = tacit.limit(model, X, y)
    second = tacit.limit(first.model(), Z, z)
    weights = tacit.flow(model, X, y, rtol=1e-10, method="parameters").weights_at(-1)
    start = first.model().start(12)
    if len(start) == len(weights):
        for name, w in start.items():
            np.testing.assert_allclose(np.abs(w), np.abs(weights[name]), atol=1e-8)
    run = tacit.flow(first.model(), Z, z, rtol=1e-10, method="parameters")
    assert distance(run.predictor[-1], second.predictor) < 1e-8
    again = tacit.limit(first.model(), X, y)
    np.testing.assert_allclose(again.predictor, first.predictor, atol=1e-13)


def test_models_that_have_no_end_say_so():
    X, y = problem(1)
    with pytest.raises(tacit.InputError, match="only the model of a limit"):
        tacit.Diagonal()()
    with pytest.raises(tacit.InputError, match="no weights"):
        tacit.limit(tacit.potentials.L1(), X, y).model()
    with pytest.raises(tacit.NoPotentialError, match="Neuron"):
        tacit.limit(tacit.Neuron(1.0, np.ones(12)), X, y).model()
