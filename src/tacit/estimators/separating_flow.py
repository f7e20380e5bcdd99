r"""Flows of the exponential and the logistic loss with an optimal intercept, for any labelled data.

    L(w) = min_b Σ_n s_n ℓ(y_n(x_n·w + b)),    Σ s_n = 1

The intercept is optimal at every time. Gradient flow on L is then again a mirror flow: ∇Q(w) = Xᵀν, where
ν' = p with p_n = −∂L/∂f_n/L, in time rescaled by the loss. Since Σ p_n = 0, the intercept does not enter Q,
and the flow does not depend on the origin of the features. The Jacobian is −(P − ppᵀ)·X (∂w/∂z) Xᵀ with
P = S − S11ᵀS/(1ᵀS1), S_n = s_n ℓ''_n/L. The unknowns are ν or, if there are more samples than features, Uᵀν
with X = U R. They are integrated by LSODA (Petzold 1983).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.integrate import LSODA
from scipy.special import expit

from tacit.data.arrays import Float
from tacit.errors import NotConvergedError
from tacit.flows.driver import drive
from tacit.flows.form import Flow
from tacit.flows.forms.mirror import MirrorMap
from tacit.flows.segments import Reader, Segment
from tacit.flows.steps.stepper import ByScipy
from tacit.flows.termination import Stall
from tacit.losses import Exponential, SeparatingLoss
from tacit.models.model import Model
from tacit.numerics.rounding import TINY
from tacit.numerics.ties import Ties, product
from tacit.potentials.arrays import quiet

_CLOSEST = 1e-14  # how close to the ends ±1 of its domain a trial step may bring a slope
_MOST_STEPS = 100_000  # steps of LSODA
_NEWTON_INTERCEPT = 60  # Newton steps for the best intercept
_ROUND_OFF = 1e-14  # relative change of the intercept that is round-off
_LAST_CHANGE = 1e-8  # relative change of the intercept after which the error, its square, is round-off
_NEWTON_LOSS = 100  # Newton steps for the least loss
_RANK = 1e-12  # singular values relative to the largest that count as 0
_RIDGE = 1e-10  # relative ridge, which keeps the Hessian invertible where the loss is approached at infinity
_SHORTEST = 1e-10  # shortest step of the line search
_LEAST_GAIN = 1e-12  # decrease of the log loss below which the search for the smallest loss ends
# LSODA's tolerance in units of that of the predictors. Above depth 2 predictors depend on the distances of
# slopes from ±1, which have larger relative errors than the slopes.
_LSODA_RTOL, _LSODA_RTOL_DEEP = 1e-2, 1e-4
_LEAST_RTOL = 1e-13  # the smallest tolerance that LSODA is given


@dataclass(frozen=True, eq=False)
class LossState:
    """The loss at given outputs: the best intercept, the log loss, p and S (`curvature`)."""

    intercept: float
    log_loss: float
    p: Float
    curvature: Float


@dataclass(frozen=True, eq=False)
class LabelledSamples:
    """Labelled samples and their loss. weights: s, with sum 1."""

    X: Float
    y: Float
    weights: Float
    loss: SeparatingLoss
    intercept: bool

    @cached_property
    def _logs(self) -> Float:
        return np.log(self.weights)

    @quiet
    def at(self, outputs: Float, near: float = 0.0) -> LossState:
        """The loss at these outputs without intercept. near: initial value for the intercept."""
        b = self._best_intercept(outputs, near) if self.intercept else 0.0
        margins = self.y * (outputs + b)
        terms = self.loss.log_terms(margins) + self._logs
        log_loss = np.logaddexp.reduce(terms)
        slopes = np.exp(self.loss.log_slope(margins) + (self._logs - log_loss))
        return LossState(b, log_loss, self.y * slopes, slopes * self.loss.slope_rate(margins))

    def _best_intercept(self, outputs: Float, near: float) -> float:
        """argmin_b L: in closed form for the exponential loss, by a safeguarded Newton method otherwise."""
        if isinstance(self.loss, Exponential):
            logs = self._logs - self.y * outputs
            ups, downs = np.logaddexp.reduce(logs[self.y > 0]), np.logaddexp.reduce(logs[self.y < 0])
            return float(ups - downs) / 2
        odds = abs(float(np.log(self.weights[self.y > 0].sum() / self.weights[self.y < 0].sum())))
        low, high, b = -float(outputs.max()) - 1 - odds, 1 + odds - float(outputs.min()), near
        for _ in range(_NEWTON_INTERCEPT):
            wrong = expit(-self.y * (outputs + b))
            slopes = self.weights * wrong
            gradient = -float(self.y @ slopes)
            low, high = (b, high) if gradient < 0 else (low, b)
            change = -gradient / max(float(slopes @ (1 - wrong)), TINY)
            if abs(change) <= _ROUND_OFF * (1 + abs(b)):
                break
            b = b + change if low < b + change < high else (low + high) / 2
            if abs(change) <= _LAST_CHANGE * (1 + abs(b)):
                break
        return b


@dataclass(frozen=True, eq=False)
class StoppedFlow:
    """Predictors (stops, d) and intercepts (stops,) of a flow; steps: of the integrator."""

    predictors: Float
    intercepts: Float
    steps: int


def _qr(X: Float) -> tuple[Float, Float]:
    """The factorization X = U R with orthonormal columns of U, where equal columns of X stay equal in R."""
    ties = Ties.of(X)
    U, R = np.linalg.qr(X if ties is None else X[:, ties.first])
    return U, R if ties is None else ties.spread(R)


class SeparatingFlow(Flow):
    """The flow of a diagonal network on labelled samples, with the unknowns ν or Uᵀν."""

    def __init__(self, model: Model, samples: LabelledSamples, rtol: float = 1e-8):
        form = model.mirror_form(samples.X.shape[1])
        assert form is not None
        self.samples, self.U, R = samples, None, samples.X
        if len(R) > R.shape[1]:
            self.U, R = _qr(R)
        self.rows, self.weighted_rows = R, R / form.weight
        self.ties = Ties.of(self.weighted_rows)
        self.rtol = max((_LSODA_RTOL if form.power == np.inf else _LSODA_RTOL_DEEP) * rtol, _LEAST_RTOL)
        self.start = MirrorMap.at(form.power, form.log_scale, form.start)
        self._intercept = 0.0  # the last one, near which the next one lies
        self._last: tuple[Float, MirrorMap, LossState] | None = None

    @cached_property
    def first(self) -> LossState:
        """The loss at the start."""
        return self._at(np.zeros(len(self.rows)))[1]

    def _at(self, nu: Float) -> tuple[MirrorMap, LossState]:
        """The mirror map and the loss at ν; the last result is remembered."""
        if self._last is None or not np.array_equal(self._last[0], nu):
            there = self.start.moved(product(nu, self.weighted_rows, self.ties), _CLOSEST)
            state = self.samples.at(self.samples.X @ there.predictor, self._intercept)
            self._intercept = state.intercept
            self._last = nu.copy(), there, state
        return self._last[1:]

    @quiet
    def _rate(self, _: float, nu: Float) -> Float:
        p = self._at(nu)[1].p
        return p if self.U is None else p @ self.U

    @quiet
    def _jacobian(self, _: float, nu: Float) -> Float:
        there, state = self._at(nu)
        S, p = state.curvature, state.p
        kernel = (self.rows * there.stiffness) @ self.weighted_rows.T
        kernel = kernel if self.U is None else self.U @ kernel
        inner = S[:, None] * kernel - np.outer(p, p @ kernel)
        if self.samples.intercept:
            inner -= np.outer(S, S @ kernel) / max(S.sum(), TINY)
        return -inner if self.U is None else -self.U.T @ inner

    def _natural_size(self) -> float:
        """The size of ν that changes slopes by 1 or, in the kernel regime, outputs by 1."""
        slopes = self.weighted_rows.T @ self._rate(0.0, np.zeros(len(self.rows)))
        outputs = np.abs(self.samples.X @ (self.start.stiffness * slopes)).max()
        change = np.abs(slopes).max() / outputs if outputs > 0 else 1.0
        return float(min(change, 1.0) / (np.abs(self.weighted_rows).sum(axis=0).max() or 1.0))

    def _accuracy(self, nu: Float) -> float:
        return -self._at(nu)[1].log_loss

    def stepper(self) -> ByScipy:
        """LSODA."""
        options: dict[str, Any] = {"rtol": self.rtol, "atol": self.rtol * self._natural_size()}
        jac = lambda time, nu: self._jacobian(time, nu)  # noqa: E731 (SciPy before 1.17 takes no method)
        solver = LSODA(self._rate, 0.0, np.zeros(len(self.rows)), 1e300, jac=jac, **options)
        return ByScipy(solver, lambda _, nu: nu)

    @quiet
    def stops(self, accuracies: Sequence[float]) -> StoppedFlow:
        """Stop at these increasing accuracies, all of which the flow must be able to reach."""
        remaining, found, steps = list(accuracies), list[Float](), 0

        def follow(segment: Segment) -> bool:
            nonlocal steps
            steps += 1
            reader = Reader(segment, self._accuracy)
            reached = reader(segment.end)[1]
            if steps >= _MOST_STEPS or not np.isfinite(reached):
                raise Stall("too many steps" if np.isfinite(reached) else "it diverged")
            while remaining and reached >= remaining[0]:
                found.append(reader.locate(remaining.pop(0))[0][0])
            return not remaining

        try:
            if remaining:
                drive(self, follow)
        except Stall as stall:
            wanted = f"the flow did not reach accuracy {remaining[0]:.6g}"
            raise NotConvergedError(f"{wanted}: {stall}") from None
        states = [self._at(nu) for nu in found]
        predictors = np.array([there.predictor for there, _ in states])
        return StoppedFlow(predictors, np.array([state.intercept for _, state in states]), steps)


@quiet
def least_loss(samples: LabelledSamples) -> float:
    """The logarithm of the infimum of the loss over all predictors, by Newton's method with a line search.

    If the infimum is approached only at infinity, because some samples can be separated, the result is
    slightly larger.
    """
    basis, sizes, _ = np.linalg.svd(samples.X, full_matrices=False)
    rank = int((sizes > _RANK * max(sizes.max(), TINY)).sum())
    U = basis[:, :rank]
    v, here = np.zeros(rank), samples.at(np.zeros(len(U)))
    for _ in range(_NEWTON_LOSS):
        S = here.curvature
        centred = U - (S @ U) / max(S.sum(), TINY) if samples.intercept else U
        hessian = (centred.T * S) @ centred + _RIDGE * S.max() * np.eye(rank)
        change = np.linalg.solve(hessian, U.T @ here.p)
        length = 1.0
        while (there := samples.at(U @ (v + length * change), here.intercept)).log_loss > here.log_loss:
            length /= 2
            if length < _SHORTEST:
                return here.log_loss
        gain, v, here = here.log_loss - there.log_loss, v + length * change, there
        if gain < _LEAST_GAIN:
            break
    return here.log_loss
