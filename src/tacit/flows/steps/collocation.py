"""One step of Radau IIA with five stages (order 9) for the flow of a separating loss in mirror space.

The error is estimated with an embedded formula that uses the rates at the beginning with the weight of the
real eigenvalue of A (Hairer and Wanner, Solving Ordinary Differential Equations II, IV.5 and IV.8).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import wrightomega

from tacit.data.arrays import Float, Index
from tacit.flows.steps.radau import LAGRANGE, ORDER, POWERS, STAGES, A, C, interpolate
from tacit.flows.steps.stepper import StepEquations
from tacit.numerics.step_control import StepControl


def _real_eigenvalue(matrix: Any) -> float:
    values = np.linalg.eigvals(matrix)
    return float(values[np.abs(values.imag).argmin()].real)


_DIAGONAL = np.diag(A)[:, None]
_REAL = _real_eigenvalue(np.linalg.inv(A))
_EMBEDDED = (1 / (POWERS + 1) - (POWERS == 0) / _REAL) @ LAGRANGE  # weights of the stages
_ERROR = _REAL * np.linalg.solve(A.T, _EMBEDDED - A[-1])  # the embedded formula, of order 5
CONTROL = StepControl(
    ORDER, growth=(0.2, 8.0), predictive=True, least=(1e-8, 1e-2), attempts=120, smallest=1e-250
)
_ITERATIONS = 10  # Newton iterations per step, at most
_SMALLEST = 1e-250  # avoids division by 0 and log 0
_QUICK = 0.1  # ratio of successive Newton steps below which an expensive kernel is reused
_CHANGE = np.log(10.0)  # change of log q within a step from which the step may cross a kink
_IDLE = 1e-18  # effect on margins or Σq up to which a sample is inactive
_UNDERFLOW = -500.0  # level below which the omega function underflows and equals exp(level)


@dataclass(frozen=True)
class CollocationStep:
    """A step of length h, with rates q and increments θ at its stages."""

    h: float
    log_q: Float
    q: Float
    theta: Float

    @classmethod
    def of(cls, h: float, log_q: Float) -> CollocationStep:
        """The step with these logarithms of the rates."""
        q = np.exp(log_q)
        return cls(h, log_q, q, h * (A @ q))

    def at(self, fraction: Float) -> Float:
        """θ at fractions of the step, from the collocation polynomial."""
        powers = fraction[..., None] ** (POWERS + 1) / (POWERS + 1)
        return self.h * (powers @ LAGRANGE) @ self.q

    def part(self, fraction: float) -> CollocationStep:
        """The step to a fraction of its length, by interpolation."""
        log_q = np.minimum(interpolate(self.log_q, C * fraction), 0.0)
        return CollocationStep(fraction * self.h, log_q, np.exp(log_q), self.at(C * fraction))


@dataclass(frozen=True, eq=False)
class PathEquations(StepEquations):
    """The equations of a step. rates: q at its beginning. last: the previous step."""

    path: Any
    loss: Any
    rates: Float
    rtol: float
    last: CollocationStep | None = None

    def first_length(self) -> float:
        """A length over which the margins change little."""
        _, point = self.path.margins(np.zeros_like(self.rates))
        gain = float(np.abs(self.path.velocity(point, self.rates)).max())
        return min(1.0, 0.1 / max(gain, _SMALLEST))

    def attempt(self, h: float) -> tuple[CollocationStep | None, float]:
        """The step, or None if its error is too large or may be hidden by a kink, and the error."""
        log_q = self._solved(self._guess(h), h)
        if log_q is None:
            return None, np.inf
        step = CollocationStep.of(h, log_q)
        error = self._error(step) / self.rtol
        taken = error <= 1 and (not self._across_a_kink(step) or self._confirmed(step))
        return step if taken else None, error

    def _across_a_kink(self, step: CollocationStep) -> bool:
        """Whether a sample with a significant effect enters or leaves the support within the step.

        Then the rates are not close to a polynomial, and the error estimate may be small by chance.
        """
        changed = np.abs(np.log(np.maximum(self.rates, _SMALLEST)) - step.log_q[-1]) > _CHANGE
        if not changed.any():
            return False
        effect = np.where(changed, step.h * np.maximum(self.rates, step.q[-1]), 0.0)
        return bool(self.path.size(effect, self.path.margins(step.theta[-1])[1]) > self.rtol)

    def _confirmed(self, whole: CollocationStep) -> bool:
        """Whether two steps of half the length end at the same point."""
        first = self.shorter(whole, 0.5)
        if first is None:
            return False
        there = replace(self, path=self.path.moved(first.theta[-1]), rates=first.q[-1])
        second = there.shorter(whole, 0.5)
        if second is None:
            return False
        difference = first.theta[-1] + second.theta[-1] - whole.theta[-1]
        return bool(self.path.size(difference, self.path.margins(whole.theta[-1])[1]) <= self.rtol)

    def shorter(self, step: CollocationStep, fraction: float) -> CollocationStep | None:
        """The step from the same beginning to a fraction of its length; None if Newton's method fails.

        Unlike the interpolation of the whole step, its end satisfies the equations, also across a kink.
        """
        h, smooth = fraction * step.h, step.part(fraction).log_q
        first = np.tile(np.log(np.maximum(self.rates, _SMALLEST)), (STAGES, 1))
        for guess in (smooth, first, np.tile(step.log_q[-1], (STAGES, 1)), (first + step.log_q) / 2):
            log_q = self._solved(guess, h, iterations=30)
            if log_q is not None:
                return CollocationStep.of(h, log_q)
        return None

    def _guess(self, h: float) -> Float:
        """log q at the stages, extrapolated from the last step."""
        last = self.last
        if last is None or h > 4 * last.h:
            return np.tile(np.log(np.maximum(self.rates, _SMALLEST)), (STAGES, 1))
        return np.minimum(interpolate(last.log_q, 1 + C * h / last.h), 0.0)

    def _solved(self, log_q: Float, h: float, iterations: int = _ITERATIONS) -> Float | None:
        """log q at the stages of a step of length h, by Newton's method; None if it fails.

        Margins depend on q, but the equations also contain log q, which dominates for small q. The unknown is
        therefore a·q + log q with the diagonal a of the Jacobian, in which the equations are nearly linear
        for small and for large q; Wright's omega function inverts it.
        """
        path, loss, c, before, last = self.path, self.loss, None, np.inf, np.inf
        known: tuple[Index, Float] | None = None
        for iteration in range(iterations):
            q = np.exp(log_q)
            margins, point = path.margins(h * (A @ q))
            if not np.isfinite(margins).all():
                return None
            log_slopes, rate = loss.log_slope(margins), loss.slope_rate(margins)
            if c is None:
                c = np.logaddexp.reduce(log_slopes, axis=1)
            metric = path.metric(point)
            a = np.maximum(_DIAGONAL * (h * rate) * path.diagonal(metric), _SMALLEST)
            active = _active(np.maximum(a, 1.0) * q)
            reusable = path.costly and before < _QUICK * last
            if known is None or not (reusable and np.array_equal(known[0], active)):
                known = active, _kernels(path, metric, active, known is None)
            kernel = rate[:, :, None] * known[1]
            change, dc = _newton(h, q, a, active, kernel, log_q - log_slopes + c[:, None])
            c = c + dc
            level = a * q + np.log(a) + log_q + change
            log_q = np.where(
                level > _UNDERFLOW, np.log(np.maximum(wrightomega(level), _SMALLEST)), level
            ) - np.log(a)
            moved = path.size(h * (A[-1] @ (np.exp(log_q) - q)), point[-1])
            if moved <= 1e-2 * self.rtol:
                return log_q
            if not np.isfinite(moved) or (iteration > iterations // 2 and moved > before):
                return None
            before, last = moved, before
        return None

    def _error(self, step: CollocationStep) -> float:
        """The estimated error of the step, filtered for stiff components (Hairer and Wanner, IV.8).

        Uses the filters of both ends, because that of the end alone hides samples that enter the support.
        """
        path, h, rates = self.path, step.h, self.rates
        margins, point = path.margins(step.theta[-1])
        rate = self.loss.slope_rate(margins)
        ends = np.array([rates, step.q[-1]])
        metric = path.metric(point)
        active = _active(np.maximum(h * rate * path.diagonal(metric), 1.0) * ends)
        kernel = (rate[:, None] * path.kernel(metric, active))[active]
        raw = rates + _ERROR @ step.theta / h
        return max(float(path.size(_filtered(each, active, kernel, raw, h), point)) for each in ends)


def _kernels(path: Any, metric: Float, active: Index, roughly: bool) -> Float:
    """Kernels at all stages; if expensive, at first approximated by scaling that of the middle stage."""
    if not (roughly and path.costly):
        return np.asarray(path.kernel(metric, active))
    middle = STAGES // 2
    sizes = path.diagonal(metric)
    ratio = np.sqrt(sizes / np.maximum(sizes[middle], _SMALLEST))
    return np.asarray(ratio[:, :, None] * path.kernel(metric[middle], active) * ratio[:, None, active])


def _active(effects: Float) -> Index:
    """Samples that affect a margin or Σq by more than round-off; the others need no equations."""
    return np.flatnonzero((effects > _IDLE).any(axis=0))


def _newton(h: float, q: Float, a: Float, active: Index, kernel: Float, excess: Float) -> tuple[Float, Float]:
    """The Newton step in a·q + log q and in c for all stages; kernel: columns of the active samples."""
    stages, samples = len(q), len(active)
    size = stages * samples
    damped = 1 / (1 + a[:, active] * q[:, active])
    column = q[:, active] * damped
    matrix = np.zeros((size + stages, size + stages))
    own_rows = kernel if samples == q.shape[1] else kernel[:, active]
    blocks = matrix[:size, :size].reshape(stages, samples, stages, samples)  # in place
    np.multiply(own_rows[:, :, None, :], (h * A)[:, None, :, None] * column, out=blocks)
    matrix.flat[: size * (size + stages) : size + stages + 1] += damped.ravel()
    for i in range(stages):
        own = slice(i * samples, (i + 1) * samples)
        matrix[own, size + i], matrix[size + i, own] = 1.0, column[i]
    right = np.concatenate([-excess[:, active].ravel(), 1 - q.sum(axis=1)])
    try:
        solution = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        return np.full_like(q, np.nan), np.full(stages, np.nan)
    changes, dc = solution[:size].reshape(stages, samples), solution[size:]
    if samples == q.shape[1]:
        return changes, dc
    margins = np.matmul(kernel, (h * A @ (column * changes))[:, :, None])[:, :, 0]
    change = -excess - dc[:, None] - margins
    change[:, active] = changes
    return change, dc


def _filtered(q: Float, active: Index, kernel: Float, raw: Float, h: float) -> Float:
    """Apply (γ/h·I + J)⁻¹ to a raw error, with the Jacobian J at rates q."""
    jacobian = q[active, None] * (kernel - q[active] @ kernel)
    change = raw * (h / _REAL)
    try:
        change[active] = np.linalg.solve(_REAL / h * np.eye(len(active)) + jacobian, raw[active])
    except np.linalg.LinAlgError:
        return np.full_like(raw, np.inf)
    return change
