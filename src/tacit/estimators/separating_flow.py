r"""Flows of the exponential and the logistic loss beside an intercept, also of data that cannot be separated.

    L(w) = min_b Σ_n s_n ℓ(y_n(x_n·w + b)),    Σ s_n = 1

With the intercept at its best at every moment, gradient flow on L is again a mirror flow: ∇Q(w) = Xᵀθ with
θ' = p, the pull of the samples, p_n = −∂L/∂f_n/L in the clock of the loss. Their pulls add up to 0: b is in
no potential and the origin of the features does not count. The Jacobian is −(P − ppᵀ)·X (∂w/∂z) Xᵀ with
P = S − S11ᵀS/(1ᵀS1), S_n = s_n ℓ''_n/L. As many unknowns as samples or, with X = U R, as features: Uᵀθ. LSODA
(Petzold 1983) integrates them.
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
from tacit.flows.forms.mirror import MirrorMap
from tacit.losses import Exponential, SeparatingLoss
from tacit.models.model import Model
from tacit.numerics.roots import crossing
from tacit.numerics.ties import Ties, product
from tacit.potentials.arrays import quiet

_FLOOR = 1e-14  # how close to the end of its domain a trial step may bring a slope
_STEPS = 100_000
_BALANCED, _NEAR = 1e-14, 1e-8  # changes of an intercept that are none, and that are the last
_NEWTON = 60  # iterations for the best intercept


@dataclass(frozen=True, eq=False)
class Balance:
    """A loss at outputs without an intercept. intercept: the best. log_loss, pull p and curvature S there."""

    intercept: float
    log_loss: float
    pull: Float
    curvature: Float


@dataclass(frozen=True, eq=False)
class Samples:
    """Labelled samples as a flow sees them. shares: s, which add up to 1."""

    X: Float
    y: Float
    shares: Float
    loss: SeparatingLoss
    intercept: bool

    @cached_property
    def _logs(self) -> Float:
        return np.log(self.shares)

    @quiet
    def balance(self, outputs: Float, near: float = 0.0) -> Balance:
        """The loss where the outputs without intercept are these; near: where to look for the intercept."""
        b = self._best(outputs, near) if self.intercept else 0.0
        margins = self.y * (outputs + b)
        terms = self.loss.log_terms(margins) + self._logs
        log_loss = _log_sum(terms)
        slopes = np.exp(self.loss.log_slope(margins) + (self._logs - log_loss))
        return Balance(b, log_loss, self.y * slopes, slopes * self.loss.slope_rate(margins))

    def _best(self, outputs: Float, near: float) -> float:
        """argmin_b L: in closed form for the exponential loss; of the logistic one by Newton's method."""
        if isinstance(self.loss, Exponential):
            logs = self._logs - self.y * outputs
            return (_log_sum(logs[self.y > 0]) - _log_sum(logs[self.y < 0])) / 2
        odds = abs(float(np.log(self.shares[self.y > 0].sum() / self.shares[self.y < 0].sum())))
        low, high, b = -float(outputs.max()) - 1 - odds, 1 + odds - float(outputs.min()), near
        for _ in range(_NEWTON):
            wrong = expit(-self.y * (outputs + b))
            slopes = self.shares * wrong
            pull = float(self.y @ slopes)
            low, high = (b, high) if pull > 0 else (low, b)
            change = pull / max(float(slopes @ (1 - wrong)), 1e-300)
            if abs(change) <= _BALANCED * (1 + abs(b)):
                break
            b = b + change if low < b + change < high else (low + high) / 2
            if abs(change) <= _NEAR * (1 + abs(b)):  # Newton's method squares it
                break
        return b


def _log_sum(logs: Float) -> float:
    most = logs.max()
    return float(most + np.log(np.exp(logs - most).sum()))


@dataclass(frozen=True, eq=False)
class Stops:
    """A flow at several accuracies, a row for each; steps: of the integrator."""

    accuracies: Float
    predictors: Float
    intercepts: Float
    steps: int


def _turned(X: Float) -> tuple[Float, Float]:
    """U and R with X = U R and orthonormal columns of U; columns of R are equal where those of X are."""
    ties = Ties.of(X)
    U, R = np.linalg.qr(X if ties is None else X[:, ties.first])
    return U, R if ties is None else ties.spread(R)


class SeparatingFlow:
    """The flow of a diagonal network on labelled samples."""

    def __init__(self, model: Model, samples: Samples, rtol: float = 1e-8):
        form = model.mirror_form(samples.X.shape[1])
        assert form is not None
        self.samples, self.U, R = samples, None, samples.X
        if len(R) > R.shape[1]:
            self.U, R = _turned(R)
        self.rows, self.reach = R, R / form.weight
        self.ties = Ties.of(self.reach)
        fine = 1e-2 if form.power == np.inf else 1e-4  # slopes with ends are told by their distance from them
        self.rtol = max(fine * rtol, 1e-13)
        self.start = MirrorMap.at(form.power, form.log_scale, form.start)
        self._near = 0.0
        self._last: tuple[Float, MirrorMap, Balance] | None = None

    @cached_property
    def first(self) -> Balance:
        """The loss at the start."""
        return self._at(np.zeros(len(self.rows)))[1]

    def _at(self, theta: Float) -> tuple[MirrorMap, Balance]:
        """The state at θ; that of the last one asked about is known."""
        if self._last is None or not np.array_equal(self._last[0], theta):
            self._last = (theta.copy(), *self._state(theta))
        return self._last[1:]

    def _state(self, theta: Float) -> tuple[MirrorMap, Balance]:
        there = self.start.moved(product(theta, self.reach, self.ties), _FLOOR)
        balance = self.samples.balance(self.samples.X @ there.predictor, self._near)
        self._near = balance.intercept
        return there, balance

    @quiet
    def _rate(self, _: float, theta: Float) -> Float:
        pull = self._at(theta)[1].pull
        return pull if self.U is None else pull @ self.U

    @quiet
    def _jacobian(self, _: float, theta: Float) -> Float:
        there, balance = self._at(theta)
        S, p = balance.curvature, balance.pull
        kernel = (self.rows * there.stiffness) @ self.reach.T
        kernel = kernel if self.U is None else self.U @ kernel
        inner = S[:, None] * kernel - np.outer(p, p @ kernel)
        if self.samples.intercept:
            inner -= np.outer(S, S @ kernel) / max(S.sum(), 1e-300)
        return -inner if self.U is None else -self.U.T @ inner

    def _natural_size(self) -> float:
        """Of θ: slopes change by 1 or, in the kernel regime, by what makes outputs of size 1."""
        pull = self._rate(0.0, np.zeros(len(self.rows)))
        slopes = self.reach.T @ pull
        outputs = np.abs(self.samples.X @ (self.start.stiffness * slopes)).max()
        far = np.abs(slopes).max() / outputs if outputs > 0 else 1.0
        return float(min(far, 1.0) / (np.abs(self.reach).sum(axis=0).max() or 1.0))

    def _accuracy(self, theta: Float) -> float:
        return -self._at(theta)[1].log_loss

    @quiet
    def stops(self, accuracies: Sequence[float]) -> Stops:
        """The flow at increasing accuracies, all of which it must be able to reach."""
        unknowns = np.zeros(len(self.rows))
        options: dict[str, Any] = {"rtol": self.rtol, "atol": self.rtol * self._natural_size()}
        jac = lambda clock, theta: self._jacobian(clock, theta)  # noqa: E731 (SciPy before 1.17 takes no method)
        solver = LSODA(self._rate, 0.0, unknowns, 1e300, jac=jac, **options)
        wanted, found, steps = list(accuracies), [], 0
        while wanted:
            if solver.status == "failed" or steps >= _STEPS:
                raise NotConvergedError(f"the flow stalled before it reached accuracy {wanted[0]:.6g}")
            solver.step()
            steps += 1
            reached = self._accuracy(solver.y)
            if not np.isfinite(reached):
                raise NotConvergedError(f"the flow was lost before it reached accuracy {wanted[0]:.6g}")
            while wanted and reached >= wanted[0]:
                found.append(self._locate(solver, wanted.pop(0)))
        return self._told(np.asarray(accuracies, dtype=float), found, steps)

    def _locate(self, solver: Any, accuracy: float) -> Float:
        """θ at an accuracy within the last step."""
        dense = solver.dense_output()
        if self._accuracy(dense(solver.t_old)) >= accuracy:
            return np.asarray(dense(solver.t_old))
        places = {"xtol": 1e-15 * solver.t, "rtol": 1e-14}
        clock = crossing(lambda t: self._accuracy(dense(t)) - accuracy, solver.t_old, solver.t, **places)
        return np.asarray(dense(clock))

    def _told(self, accuracies: Float, thetas: list[Float], steps: int) -> Stops:
        seen = [self._at(theta) for theta in thetas]
        predictors = np.array([there.predictor for there, _ in seen])
        return Stops(accuracies, predictors, np.array([each.intercept for _, each in seen]), steps)


@quiet
def least_loss(samples: Samples) -> float:
    """log of the least loss that any predictor has, by Newton's method in the span of the samples.

    Where it is approached at infinity only, as it is if some samples can be separated, nearly that.
    """
    basis = np.linalg.svd(samples.X, full_matrices=False)
    rank = int((basis[1] > 1e-12 * max(basis[1].max(), 1e-300)).sum())
    U = basis[0][:, :rank]
    v, here = np.zeros(rank), samples.balance(np.zeros(len(U)))
    for _ in range(100):
        S = here.curvature
        centred = U - (S @ U) / max(S.sum(), 1e-300) if samples.intercept else U
        hessian = (centred.T * S) @ centred + 1e-10 * S.max() * np.eye(rank)
        gradient = U.T @ here.pull
        change = np.linalg.solve(hessian, gradient)
        length = 1.0
        while (there := samples.balance(U @ (v + length * change), here.intercept)).log_loss > here.log_loss:
            length /= 2
            if length < 1e-10:
                return here.log_loss
        gain, v, here = here.log_loss - there.log_loss, v + length * change, there
        if gain < 1e-12:
            break
    return here.log_loss
