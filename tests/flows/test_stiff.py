"""Steps of the stiff integrator, compared with closed forms of linear flows with a large spread of rates."""

from functools import partial
from itertools import count

import numpy as np
import pytest
from scipy.stats import ortho_group

import tacit
from tacit.flows.steps.dormand_prince import DormandPrince
from tacit.flows.steps.radau import C
from tacit.flows.steps.stiff import CONTROL, Field, Spectrum
from tacit.flows.termination import GaveUp


def graded_root(spread, size=8, seed=0):
    """R with singular values from 1 down to 10^−spread, and its left singular vectors."""
    rng = np.random.default_rng(seed)
    turn, right = (ortho_group.rvs(n, random_state=rng) for n in (size, size + 5))
    roots = np.logspace(0, -spread, size)
    return turn @ (roots[:, None] * right[:size]), turn, roots**2


def test_sharp_spectra_keep_the_smallest_eigenvalues():
    """Ratios of eigenvalues of 1e-18: singular values (1e-9) keep 7 digits, eigenvalues of S none."""
    R, _, values = graded_root(9)
    sharp, fast = Spectrum.sharp(R), Spectrum.fast(R)
    np.testing.assert_allclose(np.sort(sharp.values), np.sort(values), rtol=1e-5)
    assert abs(np.sort(fast.values)[0] / values.min() - 1) > 0.5
    for spectrum in (sharp, fast):
        np.testing.assert_allclose(
            (spectrum.vectors * spectrum.values) @ spectrum.vectors.T, R @ R.T, atol=1e-14
        )


def test_a_spectrum_serves_what_is_much_the_same():
    R, _, _ = graded_root(3)
    columns = np.ones(R.shape[1])
    columns[4] = 1.9
    assert Spectrum.fast(R).serves(R) and Spectrum.fast(R).serves(R * columns)
    columns[4] = 2.1
    assert not Spectrum.fast(R).serves(R * columns) and not Spectrum.fast(R * columns).serves(R)


@pytest.mark.parametrize("h", [1e-4, 1.0, 1e4, 1e12])
def test_the_next_spectrum_is_right_where_a_step_can_tell(h):
    """The relative error of I + hS, which Newton's method inverts, is at most √0.001."""
    rng = np.random.default_rng(int(np.log10(h)) + 20)
    R, _, _ = graded_root(5)
    last = Spectrum.sharp(R)
    for _ in range(5):  # errors would accumulate
        R = R * rng.uniform(0.3, 3.0, R.shape[1])
        last = last.next(R, h)
        np.testing.assert_allclose(last.vectors.T @ last.vectors, np.eye(len(R)), atol=1e-13)
        scale = 1 / np.sqrt(1 + h * last.values)
        wrong = (
            scale[:, None]
            * (h * (last.vectors.T @ R) @ (last.vectors.T @ R).T - np.diag(h * last.values))
            * scale
        )
        assert np.abs(np.linalg.eigvalsh(wrong)).max() < 0.2


def followed(R, force, spectrum, values):
    """The stationary point of x' = force − R Rᵀ x from 0, with steps accurate to 1e-10, and the steps."""
    x, clock, h, last, steps = np.zeros(len(R)), 0.0, None, None, 0
    until, size = 10 / values.min(), np.full(len(R), 1e-10 * np.linalg.norm(force) / values.min())
    while clock < until:
        rate = partial(lambda x, dx: force - (x + dx) @ R @ R.T, x)
        spectra = [lambda: spectrum, partial(Spectrum.sharp, R)]
        field = Field(rate, spectra, size, (1e-15 * until, 1e-15), last)
        h = field.first_length() if h is None else min(h, until - clock)
        last = CONTROL.search(field.attempt, h, last)
        x, clock, h, steps = x + last.step.at(last.h), clock + last.h, last.next_h, steps + 1
    return x, clock, steps


@pytest.mark.parametrize("spread", [1, 2, 4])
def test_linear_flows_are_followed_in_few_steps(spread):
    """x(t) = S⁻¹(1 − e^{−St})·force, along known eigenvectors."""
    R, turn, values = graded_root(spread, seed=spread)
    force = np.random.default_rng(1).standard_normal(len(R))
    x, clock, steps = followed(R, force, Spectrum.fast(R), values)
    exact = turn @ (-np.expm1(-values * clock) / values * (turn.T @ force))
    rounding = 1e-14 / values.min()  # the error of a rate, relative to its final value
    assert np.linalg.norm(x - exact) < (1e-7 + rounding) * np.linalg.norm(exact)
    assert steps < 500  # an explicit method would need 10 to 1e9 steps for the same time


def test_a_wrong_jacobian_is_exchanged_for_a_better_one():
    """With an S ten times too small, Newton's method does not converge for steps longer than a lifetime."""
    R, turn, values = graded_root(1, seed=5)
    force = np.random.default_rng(1).standard_normal(len(R))
    x, clock, steps = followed(R, force, Spectrum.fast(R / np.sqrt(10)), values)
    exact = turn @ (-np.expm1(-values * clock) / values * (turn.T @ force))
    assert np.linalg.norm(x - exact) < 1e-7 * np.linalg.norm(exact)
    assert steps < 500


@pytest.mark.parametrize("h", [1e-3, 1.0, 1e4])
def test_newton_starts_from_the_rates_of_the_linear_flow(h):
    """(I + hc·S)⁻¹F(0) at the nodes c; from other initial values the iteration converges more slowly."""
    R, _, _ = graded_root(2)
    first = np.random.default_rng(3).standard_normal(len(R))
    field = Field(lambda x: first - x @ R @ R.T, [partial(Spectrum.sharp, R)], np.ones(len(R)), (0.0, 0.0))
    exact = [np.linalg.solve(np.eye(len(R)) + h * c * R @ R.T, first) for c in C]
    np.testing.assert_allclose(field._guess(h), exact, rtol=1e-9, atol=1e-12)


def spectra(samples, features, noise):
    """Similar smooth curves, like near-infrared spectra."""
    rng = np.random.default_rng(0)
    grid = np.linspace(0, 1, features)
    bumps = np.exp(-(((grid - rng.uniform(0, 1, (6, 1))) / 0.3) ** 2))
    X = 3 + rng.uniform(0.5, 1.5, (samples, 6)) @ bumps + noise * rng.standard_normal((samples, features))
    return X, X @ rng.standard_normal(features) + rng.standard_normal(samples)


@pytest.mark.every(2)
@pytest.mark.parametrize("noise", [1e-5, 1e-6])
def test_a_leaky_neuron_on_collinear_data_knows_when_it_rests(noise):
    """The gradient falls to the round-off of cancelling terms, so that no tolerance can be reached."""
    X, y = spectra(60, 30, noise)
    found = tacit.flow(tacit.Neuron.from_scale(0.1, 0.5, np.ones(30), slope=0.2), X, y + 20)
    assert found.converged and "at rest at a minimum" in found.reason
    assert found.steps < 3000


def test_deep_networks_on_collinear_data_end_at_least_squares():
    X, y = spectra(30, 12, 1e-4)
    found = tacit.flow(tacit.Diagonal(depth=4, scale=0.1), X, y)
    assert found.converged and "least squares leaves" in found.reason
    gradient = X.T @ (y - X @ found.predictor[-1])
    terms = np.abs(X.T) @ (np.abs(y) + np.abs(X) @ np.abs(found.predictor[-1]))
    assert (np.abs(gradient) < 1e-9 * terms).all()


@pytest.mark.parametrize("rises", [True, False])
def test_a_step_of_the_least_length_is_taken_only_where_the_loss_falls(rises):
    """A discontinuous rate, for which no step is accurate."""

    calls = count()

    def rate(t, y):
        return np.array([1.0 + 1e6 * (next(calls) % 2)])

    level = (lambda y: y[0]) if rises else (lambda y: -y[0])
    tolerated = {"rtol": 1e-12, "atol": np.full(1, 1e-30), "floor": 1e-2, "unit": 1.0}
    stepper = DormandPrince(rate, 0.0, np.zeros(1), level, lambda clock, y: y, **tolerated)
    if rises:
        segment = stepper.step()
        assert segment.end == stepper.clock == pytest.approx(1e-2) and segment.last[0] > 0
    else:
        with pytest.raises(GaveUp, match="the loss does not decrease"):
            stepper.step()
        assert stepper.clock == 0
