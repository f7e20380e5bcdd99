"""Gradient descent on diagonal networks: plain loops, and the effective start of a run."""

import itertools

import numpy as np
import pytest

import tacit
from tacit import Training

X = np.array([[1, 0.5, 0.7, 0], [0.5, 1, 0.1, 0.7]])
Y = np.array([1.0, 0])
# Plain loops in another program, to a residual below 2e-15.
KNOWN = {
    "step .2": (2, 0.1, Training(0.2), (0.558104587403, -0.056638480617, 0.671735218437, -0.413696192754)),
    "depth 3": (3, 0.3, Training(0.2), (0.522932234359, -0.061323217011, 0.725327677352, -0.389536668434)),
    "samples in turn": (
        2,
        0.1,
        Training(0.1, batch=1),
        (0.538209166988, -0.048972712363, 0.694681698848, -0.413714344308),
    ),
    "heavy ball": (
        2,
        0.1,
        Training(0.001, 0.9),
        (0.5609552452, -0.0578476759, 0.6685265611, -0.4135465754),
    ),
}


@pytest.mark.parametrize("case", KNOWN)
def test_runs_end_where_plain_loops_do(case):
    depth, scale, training, end = KNOWN[case]
    turns = itertools.cycle([[0], [1]]) if training.batch else None
    run = tacit.descend(tacit.Diagonal(depth, scale), X, Y, training, until=1e-13, batches=turns)
    # The printed digits, and ten times the residual of a run with momentum, which decreases slowly.
    np.testing.assert_allclose(run.predictor, end, rtol=0, atol=1e-10)
    assert run.converged


def loop(model, X, y, training, steps, seed=0):
    """The weights of a tied network after some steps, from the definition."""
    rng, (w, v), D = np.random.default_rng(seed), model.start(X.shape[1]).values(), model.depth
    W, V, N = np.array([w, v]), np.zeros((2, len(w))), len(y)
    batches = rng.integers(N, size=(256, 1)) if training.batch == 1 else [np.arange(N)] * steps
    for k in range(steps):
        b = batches[k]
        g = X[b].T @ (X[b] @ (W[0] ** D - W[1] ** D) - y[b]) / len(b)
        decay = training.decay if k * training.time_step < training.decay_time else 0.0
        G = np.array([D * g * W[0] ** (D - 1), -D * g * W[1] ** (D - 1)]) + decay * W
        V = training.momentum * V - training.step * G
        W = W + (training.momentum * V - training.step * G if training.nesterov else V)
    return W


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"momentum": 0.9},
        {"momentum": 0.9, "nesterov": True},
        {"batch": 1},
        {"decay": 0.3, "decay_time": 1.0},
        {"momentum": 0.5, "decay": 0.3, "decay_time": 1.0},
    ],
    ids=str,
)
@pytest.mark.parametrize("depth", [2, 2.5, 3, 4, 12])
def test_steps_are_those_of_the_definition(depth, options):
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((4, 7)), rng.standard_normal(4)
    model, training = tacit.Diagonal(depth, 0.6), Training(0.02, **options)
    run = tacit.descend(model, X, y, training, until=0, max_steps=100)
    W = loop(model, X, y, training, 100)
    found = np.array([run.weights["w₊"], run.weights["w₋"]])
    np.testing.assert_allclose(found, W, rtol=1e-12)  # round-off of a hundred steps
    assert run.steps == 100 and not run.converged


def problems(count, seed):
    """Random problems: sizes, scales from 1e-3 to 1, and a step below the edge of stability."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        N, d = rng.integers(2, 6), rng.integers(6, 15)
        yield (
            rng.standard_normal((N, d)),
            rng.standard_normal(N),
            10 ** rng.uniform(-3, 0),
            rng.uniform(0.1, 0.6),
        )


OPTIONS = [
    {},
    {"momentum": 0.5},
    {"momentum": 0.5, "nesterov": True},
    {"batch": 1},
    {"decay": 0.05, "decay_time": 2.0},
    {"momentum": 0.5, "batch": 2, "decay": 0.05, "decay_time": 2.0},
]


def stable_step(model, X, y, edge):
    """The step size at this fraction of the edge of stability."""
    return edge / (tacit.limit(model, X, y, training=Training(1e-12)).edge / 1e-12)


@pytest.mark.every(4)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("depth", [2, 3, 4, 6])
def test_a_flow_from_the_effective_start_ends_where_the_run_does(depth, options):
    for X, y, scale, edge in problems(2, seed=depth):
        model = tacit.Diagonal(depth, max(scale, {2: 0.01, 3: 0.1}.get(depth, 0.3)))  # smaller ones take long
        training = Training(0.5 * stable_step(model, X, y, edge), **options)
        run = tacit.descend(model, X, y, training, until=1e-12)
        assert run.converged, run.reason
        assert run.effective_error < 1e-9
        assert run.flow_error > 100 * run.effective_error  # the limit of the flow differs


@pytest.mark.parametrize(
    "model",
    [
        tacit.UntiedDiagonal(0.1, 0.5),
        tacit.UntiedDiagonal.from_weights(0.1, 0.2, 0.3, -0.1),
        tacit.UntiedDiagonal.from_layers([0.3] * 3, [0.4] * 3),
    ],
    ids=repr,
)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_untied_networks_too(model, options):
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((4, 9)), rng.standard_normal(4)
    training = Training(stable_step(model, X, y, 0.2), **options)
    run = tacit.descend(model, X, y, training, until=1e-12)
    np.testing.assert_allclose(tacit.limit(run.effective, X, y).predictor, run.predictor, atol=1e-10)
    np.testing.assert_allclose(model.parametrization.predictor(run.weights), run.predictor, atol=1e-13)
    assert run.flow_error > 1e-4


def test_untied_layers_take_the_steps_of_their_own_gradient():
    """The reduction to two vectors agrees with all four."""
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((3, 6)), rng.standard_normal(3)
    u, v, a, b = (rng.uniform(0.1, 0.5, 6) * s for s in (1, 1, 1, -1))
    model = tacit.UntiedDiagonal.from_weights(u, v, a, b)
    run = tacit.descend(model, X, y, Training(0.05, 0.5), until=0, max_steps=50)
    W, V = np.array([u, v, a, b]), np.zeros((4, 6))
    for _ in range(50):
        g = X.T @ (X @ (W[0] * W[1] - W[2] * W[3]) - y) / 3
        V = 0.5 * V - 0.05 * np.array([g * W[1], g * W[0], -g * W[3], -g * W[2]])
        W = W + V
    np.testing.assert_allclose(np.array(list(run.weights.values())), W, rtol=1e-11)


@pytest.mark.parametrize("seed", [4, 5])
@pytest.mark.parametrize("edge", [1.2, 1.6, 2.0])
def test_beyond_the_edge_the_effective_start_is_exact_where_the_flow_is_far_off(seed, edge):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((2, 4)), rng.standard_normal(2)
    model = tacit.Diagonal(2, 0.1)
    run = tacit.descend(model, X, y, Training(stable_step(model, X, y, edge)), max_steps=10_000)
    if seed == 4 and edge == 2.0:
        assert not run.converged and "diverged" in run.reason
        return
    assert run.converged, run.reason
    assert run.effective_error < 1e-9 and run.flow_error > 0.3


def test_a_run_in_parts_of_any_length_is_the_same():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((4, 7)), rng.standard_normal(4)
    training = Training(0.02, batch=2, label_noise=0.1, noise_steps=300)
    ends = [
        tacit.descend(tacit.Diagonal(2, 0.3), X, y, training, until=0, max_steps=400, seed=s).predictor
        for s in (1, 1, 2)
    ]
    np.testing.assert_array_equal(ends[0], ends[1])
    assert np.abs(ends[0] - ends[2]).max() > 1e-4


def test_batches_are_drawn_without_replacement():
    from tacit.training.draws import Draws

    draws = Draws(5, 3, seed=0)
    drawn = np.array([draws.batch_of_step() for _ in range(6000)])
    assert all(len(set(batch)) == 3 for batch in drawn.tolist())
    # Each sample is in 3/5 of the batches; five standard deviations of 6000 draws.
    assert np.abs(np.bincount(drawn.ravel()) / 6000 - 0.6).max() < 5 * np.sqrt(0.24 / 6000)


def test_divergence_and_exhausted_steps_are_said():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((4, 7)), rng.standard_normal(4)
    run = tacit.descend(tacit.Diagonal(2, 0.3), X, y, Training(5.0))
    assert not run.converged and "diverged" in run.reason and "beyond the edge" in run.reason
    assert np.isfinite(run.predictor).all()
    run = tacit.descend(tacit.Diagonal(2, 0.3), X, y, Training(0.01), max_steps=50)
    assert not run.converged and "max_steps" in run.reason and run.steps == 50
    assert "NOT CONVERGED" in run.summary()
    run = tacit.descend(tacit.Diagonal(2, 0.3), X, y, Training(0.01, batch=1), batches=[[0], [1]])
    assert run.steps == 2 and "given batches ended" in run.reason


def test_a_weight_that_dies_is_named():
    X, y = np.array([[1.0]]), np.array([1.0])
    # From w± = 1 the first step of size ½ multiplies w₋ by 1 + 2·½·(−1) = 0.
    run = tacit.descend(tacit.Diagonal(2, 1.0), X, y, Training(0.5), until=0, max_steps=1)
    with pytest.raises(tacit.NoPotentialError, match="w₋ is 0 at coordinate 0"):
        _ = run.effective


def test_results_are_whole():
    import pickle

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((4, 7)), rng.standard_normal(4)
    run = tacit.descend(tacit.Diagonal(2, 0.3), X, y, Training(0.02))
    summary = run.summary()
    for word in ("training", "effective", "predicted", "flow", "edge", "ended"):
        assert word in summary
    again = pickle.loads(pickle.dumps(run))
    np.testing.assert_array_equal(again.predictor, run.predictor)
    assert run.to_dict()["steps"] == run.steps and run.to_xarray().predictor.size == 7
    assert len(run.loss) == len(run.recorded) and (np.diff(run.loss) < 0).mean() > 0.9


BAD = [
    (lambda X, y: tacit.descend(tacit.Diagonal(), X, y, 0.1), "training must be a tacit.Training"),
    (lambda X, y: tacit.descend(tacit.Diagonal(), X, y, Training(0)), "step = 0 is gradient flow"),
    (lambda X, y: tacit.descend(tacit.Diagonal(), X, y, Training(0.1, batch=9)), "batch must be at most"),
    (lambda X, y: tacit.descend(tacit.Diagonal(), X, y, Training(0.1), until=2), "until must be"),
    (lambda X, y: tacit.descend(tacit.Diagonal(), X, y, Training(0.1), max_steps=0), "max_steps must be"),
    (lambda X, y: tacit.descend(tacit.Diagonal(log_scale=-1000), X, y, Training(0.1)), "all weights are 0"),
    (
        lambda X, y: tacit.descend(tacit.Diagonal(), X, y, Training(0.1), batches=[[7]]),
        "indices from 0 to 3",
    ),
    (lambda X, y: tacit.descend(tacit.Diagonal(), X, y, Training(0.1), batches=["a"]), "must yield indices"),
    (lambda X, y: Training(-1), "step must not be negative"),
    (lambda X, y: Training(0.1, momentum=1), r"momentum must lie in \[0, 1\)"),
    (lambda X, y: Training(0.1, nesterov=True), "nesterov needs momentum"),
    (lambda X, y: Training(0.1, batch=1.5), "batch must be a whole number"),
    (lambda X, y: Training(0.1, decay=-1), "decay must not be negative"),
    (lambda X, y: Training(0.1, decay=0.1, decay_time=-1), "decay_time must be"),
    (lambda X, y: Training(0.1, decay_time=1), "decay is 0"),
    (lambda X, y: Training(0.1, label_noise=0.1), "belong together"),
    (lambda X, y: Training(0, momentum=0.5), "step = 0 is gradient flow"),
    (lambda X, y: Training.from_torch(0.1, dampening=0.5), "dampening must be 0"),
    (lambda X, y: Training.from_torch(0.1, loss="l1"), "loss must be one of"),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input_is_named(case):
    rng = np.random.default_rng(0)
    call, message = BAD[case]
    with pytest.raises(tacit.InputError, match=message):
        call(rng.standard_normal((4, 7)), rng.standard_normal(4))


def test_data_that_cannot_be_fitted_are_named():
    with pytest.raises(tacit.InconsistentDataError, match="least squares leaves"):
        tacit.descend(tacit.Diagonal(), [[1.0], [1.0]], [1.0, 2.0], Training(0.1))
    with pytest.raises(tacit.NoPotentialError, match="equal and positive"):
        tacit.descend(tacit.UntiedDiagonal.from_layers([0.1, 0.2, 0.3]), [[1.0]], [1.0], Training(0.1))
    with pytest.raises(tacit.NoPotentialError, match="Neuron"):
        tacit.descend(tacit.Neuron(1.0, [1.0]), [[1.0]], [1.0], Training(0.1))


def test_ctrl_c_keeps_the_run():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((4, 7)), rng.standard_normal(4)

    def batches():
        yield from [[k % 4] for k in range(700)]
        raise KeyboardInterrupt

    with pytest.raises(tacit.Interrupted) as stopped:
        tacit.descend(tacit.Diagonal(2, 0.3), X, y, Training(0.02, batch=1), batches=batches())
    run = stopped.value.trajectory
    assert 0 < run.steps < 700 and run.reason == "interrupted"
    assert run.effective_error < 1e-9
