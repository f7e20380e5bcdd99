r"""The risk of limits in high dimension, by state evolution.

For N samples of features N(0, I_d) and targets y = X b* + noise, every coordinate of argmin Q(w) subject to X
w = y behaves for large N and d like η(b*_j + τZ) with Z Gaussian, η = (I + c q')⁻¹, and

    τ² = (noise² + R)/N,    R = Σ_j E(η(b*_j + τZ) − b*_j)²,    Σ_j E η'(b*_j + τZ) = N.

Expectations are integrals over rapidities u, in which the predictor x(u) and the slope q'(x) are analytic:
with
z(u) = x(u) + c·q'(x(u)) the density of z in u decays at both ends, and the trapezoidal rule converges faster
than any power of its step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from tacit.data.arrays import Float, as_floats
from tacit.errors import InputError
from tacit.models.model import Model, as_model
from tacit.numerics.rounding import quiet
from tacit.potentials import rapidity
from tacit.results.risk import Risk
from tacit.solvers.interpolation.geometry import Separable, as_separable
from tacit.verbs.limit import limit

_NODES, _MOST = 401, 20_001  # of the trapezoidal rule, at least and at most
_DENSITY = 8  # nodes per unit of rapidity, with which the rule is accurate to ten digits
_TAIL = 9.0  # standard deviations beyond which a Gaussian is below round-off
_HALVINGS = 30  # of the intervals in which the ends of the rule are located, at most
_EXCESS = 0.02  # share of the range by which it may be too wide: the ends need not be exact
_XTOL, _RTOL = 1e-13, 1e-13  # of log τ and log c
_WIDEST = 60.0  # width in the logarithm that is searched for τ and c on each side
_STEP = 2.0  # growth of the logarithm by which brackets are widened


@quiet
def risk(
    model: Model, signal: ArrayLike, noise: float, samples: int, *, draws: int = 20, seed: int = 0
) -> Risk:
    """Predict the risk ‖w − signal‖² of the limit of gradient flow on Gaussian features.

        τ² = (noise² + R)/N,   R = Σ_j E(η(b*_j + τZ) − b*_j)²,   Σ_j E η'(b*_j + τZ) = N,   η = (I + cq')⁻¹

    State evolution is exact as N and d grow with a fixed ratio. At finite sizes it is biased by a few
    percent, and the risk of a single data set has a much larger scatter (15% to 40% for N between 320 and
    40).
    The scatter is therefore always measured: by the limits on `draws` simulated data sets.

    Parameters
    ----------
    model : Diagonal or UntiedDiagonal
        The model at its initialization, with the predictor 0.
    signal : (d,) array-like
        b*, the true predictor.
    noise : float
        The standard deviation of the noise in the targets.
    samples : int
        N, below d.
    draws : int, optional
        The number of simulated data sets, 2 or more.
    seed : int, optional
        The seed of the simulation.

    Returns
    -------
    Risk
        The predicted risk, τ, and the scatter of single data sets.

    Raises
    ------
    InputError
        If an argument is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> import tacit
    >>> found = tacit.risk(tacit.Diagonal(scale=1.0), np.repeat([1.0, 0.0], [5, 395]), 0.5, 100, draws=3)
    >>> round(found.risk, 4)
    3.8286
    """
    truth = as_floats(signal, "signal", ndim=(1,)).copy()
    sigma, count, sets = _number(noise, "noise"), _number(samples, "samples"), _number(draws, "draws")
    if sigma < 0:
        raise InputError(f"noise must be 0 or positive, got {sigma:g}")
    if count != int(count) or not 1 <= count < len(truth):
        raise InputError(
            f"samples must be a whole number below the number of features, {len(truth)}, got {samples}; "
            "with more samples the least-squares solution is unique"
        )
    if sets != int(sets) or sets < 2:
        raise InputError(f"draws must be a whole number, 2 or more, got {draws}")
    if sigma == 0 and not truth.any():
        raise InputError("without signal and noise the risk is 0; give a signal or a positive noise")
    evolution = _StateEvolution.of(as_model(model), truth, sigma, int(count))
    tau, c = evolution.solved()
    predicted = evolution.moments(tau, c)[0]
    simulated = _simulated(model, truth, sigma, int(count), int(sets), seed)
    return Risk(
        risk=predicted,
        tau=tau,
        threshold=c,
        scatter=float(simulated.std(ddof=1) / predicted),
        simulated=simulated,
        model=model,
        signal=truth,
        noise=sigma,
        samples=int(count),
    )


def _number(value: Any, name: str) -> float:
    return float(as_floats(value, name, ndim=(0,)))


def _simulated(model: Any, truth: Float, noise: float, samples: int, draws: int, seed: int) -> Float:
    """The risks of limits on independent data sets."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(draws):
        X = rng.standard_normal((samples, len(truth)))
        w = limit(model, X, X @ truth + noise * rng.standard_normal(samples)).predictor
        found.append(float(((w - truth) ** 2).sum()))
    return np.array(found)


@dataclass(frozen=True, eq=False)
class _StateEvolution:
    """Groups of equal coordinates, as rows: their potential, signal (columns), and count."""

    geometry: Separable
    signal: Float
    counts: Float
    noise: float
    samples: int

    @classmethod
    def of(cls, model: Any, truth: Float, noise: float, samples: int) -> _StateEvolution:
        potential = model.potential(len(truth))
        if potential.family != "separable" or potential.base is not potential:
            raise InputError(
                "risk is for diagonal networks that start at the predictor 0, with tied layers or two "
                f"layers, got {model!r}"
            )
        full = as_separable(potential, len(truth))
        kinds, counts = np.unique(
            np.column_stack([np.abs(truth), full.log_scale, full.weight]), axis=0, return_counts=True
        )
        b, log_scale, weight = (column[:, None] for column in kinds.T)
        return cls(Separable(full.power, log_scale, weight), b, counts.astype(float), noise, samples)

    def _input(self, u: Float, c: float) -> Float:
        """z(u) = x + c·q'(x)."""
        return self.geometry.predictor(u) + c * self.geometry.slope(u)

    def _ends(self, tau: float, c: float) -> tuple[Float, Float]:
        """Rapidities, as columns, between which z lies within _TAIL standard deviations of the signal.

        By bisection, since z(u) is odd and increasing, and at most the rapidity at which x alone is z.
        """
        z = self.signal + _TAIL * tau * np.array([-1.0, 1.0])
        bound = np.sign(z) * self.geometry.rapidity(np.abs(z))
        low, high = np.minimum(bound, 0.0), np.maximum(bound, 0.0)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            below = self._input(middle, c) < z
            low, high = np.where(below, middle, low), np.where(below, high, middle)
            if ((high - low).max(axis=1) <= _EXCESS * (high[:, 1] - low[:, 0])).all():
                break
        return low[:, :1], high[:, 1:]

    def moments(self, tau: float, c: float) -> tuple[float, float]:
        """Σ E(η − b*)² and Σ E η'."""
        first, last = self._ends(tau, c)
        nodes = int(np.clip(_DENSITY * (last - first).max(), _NODES, _MOST))
        u = first + (last - first) * np.linspace(0, 1, nodes)
        x = self.geometry.predictor(u)
        density = np.exp(-(((self._input(u, c) - self.signal) / tau) ** 2) / 2)
        speed = self._slope_rate(u)  # d q'/du
        growth = self.geometry.inverse_hessian(u) * speed  # dx/du
        step = (last - first)[:, 0] / (nodes - 1) / (tau * math.sqrt(2 * math.pi))
        error = ((x - self.signal) ** 2 * density * (growth + c * speed)).sum(axis=1) * step
        passed = (density * growth).sum(axis=1) * step
        return float(self.counts @ error), float(self.counts @ passed)

    def _slope_rate(self, u: Float) -> Float:
        """d∂Q/du: weight at depth 2, weight·sech²(u/p)/p at larger depths."""
        p = self.geometry.power
        rate = 1.0 if math.isinf(p) else np.exp(-2 * rapidity.log_cosh(np, np.abs(u) / p)) / p
        return np.asarray(self.geometry.weight * rate)

    def threshold(self, tau: float) -> float:
        """c with Σ E η' = N: the sum decreases from d to 0 as c grows."""
        start = math.log(tau)
        excess = lambda log_c: self.moments(tau, math.exp(log_c))[1] - self.samples  # noqa: E731
        return math.exp(_root(excess, start))

    def solved(self) -> tuple[float, float]:
        """τ and c of the fixed point."""

        def excess(log_tau: float) -> float:
            tau = math.exp(log_tau)
            found = self.moments(tau, self.threshold(tau))[0]
            return (self.noise**2 + found) / self.samples / tau**2 - 1

        power = self.noise**2 + float(self.counts @ self.signal[:, 0] ** 2)
        tau = math.exp(_root(excess, math.log(power / self.samples) / 2))
        return tau, self.threshold(tau)


def _root(falling: Any, start: float) -> float:
    """The root of a falling function, bracketed from a starting point."""
    low = high = start
    while falling(low) < 0 and start - low < _WIDEST:
        low -= _STEP
    while falling(high) > 0 and high - start < _WIDEST:
        high += _STEP
    if low == high:
        return start
    if not falling(low) >= 0 >= falling(high):
        raise InputError(
            "the equations of state evolution have no solution in the floating-point range for this "
            "scale and "
            "signal; give a scale closer to the size of the signal"
        )
    return float(brentq(falling, low, high, xtol=_XTOL, rtol=_RTOL))
