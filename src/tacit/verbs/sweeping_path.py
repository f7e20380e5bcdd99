r"""Gradient flow on the exponential loss at infinite initialization scale.

With the smallest margin g = γ̃/α^D, W = w/α^D = h_D(Zᵀν) and rows z_n = y_n x_n, the flow tends for α → ∞ to

    ν' ≥ 0,    m_n = z_n·W ≥ g,    ν'_n (m_n − g) = 0

which is a sweeping process. On a fixed support A it is the equation m_A(ν) = g, so that nothing has to be
integrated. Only the events are located: the g at which the margin of a sample decreases to g (it enters), or
its rate ν'_n = [K_AA⁻¹1]_n to 0 (it leaves, and its ν_n stays constant). The process equals the path of Q_μ
margins, μ = 1/g, until a sample leaves.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, Index, as_floats, feature_names
from tacit.data.entries import Inputs
from tacit.errors import InputError
from tacit.flows.catching_up import Place, Step
from tacit.flows.forms.mirror import MirrorMap
from tacit.flows.forms.separating import DiagonalPath
from tacit.models.model import Model
from tacit.numerics.nonnegative import least_norm_support
from tacit.numerics.roots import crossing
from tacit.potentials.arrays import quiet
from tacit.results.paths import Breach, Kink, Stability, SweepingPath
from tacit.solvers.interpolation.geometry import Separable
from tacit.solvers.margins.constraints import Margins
from tacit.verbs.margin_path import check_levels, depth_of, geometry_of
from tacit.verbs.max_margin import max_margin

# Steps, as relative growth of g:
_GROWTH = 1.15  # the factor of g in one step
_SHORTEST = 1e-13  # growth that is round-off
_NEAR = 1e-12  # steps this short are accepted without a new support: the violation is within round-off
_BRIEF = 1e-3  # shorter steps are too short for a sample to enter and leave unnoticed inside them
_FIRST = 0.1  # g of the first step, relative to the scale of the predictor
_EARLIER = 20  # attempts to find an earlier event than the first one found in a step
# The computation is aborted if g grows by less than _CROWDED in _MOVES + _MOVES_PER_SAMPLE·N steps: ties at
# which the support cannot be decided would otherwise cause an endless loop.
_CROWDED, _MOVES, _MOVES_PER_SAMPLE = 1e-4, 50, 4
_TIE = 1e-9  # relative difference of two values of μ that count as equal
_RICH = 1e-9  # scale relative to ‖w_ℓ2‖₂ at which Q_μ counts as the ℓ1 norm


@dataclass(frozen=True, eq=False)
class _Sweep:
    """State of the process: its place, the step that led there, and the samples with margin g."""

    place: Place
    step: Step
    touching: Index

    @property
    def g(self) -> float:
        """The smallest margin."""
        return self.place.g

    @property
    def support(self) -> Index:
        """The samples whose multipliers grow."""
        return self.step.support

    def to(self, g: float) -> Step | None:
        """The step to g on the same support; None if it cannot be computed."""
        return self.place.step(self.support, g)


@quiet
def sweeping_path(
    X: Inputs, y: ArrayLike, mu: ArrayLike, *, depth: float = 2, model: Model | None = None
) -> SweepingPath:
    """Compute gradient flow on the exponential loss in the limit α → ∞ at fixed μ = α^D/γ̃, and its events.

        ν' ≥ 0,    m_n(ν) ≥ g,    ν'_n (m_n(ν) − g) = 0,    m = Z h_D(Zᵀν),  g = 1/μ, rows of Z: y_n x_n

    Moroshko et al. 2020 leave open whether the flow follows the path of Q_μ margins after a sample has left
    the support; it follows this sweeping process instead. If samples tie up to the last digits, the support
    may be undecidable; the process is then known down to some μ only, and `converged` says for which μ.

    Parameters
    ----------
    X : (N, d) array-like, or Prepared
        Rows are samples.
    y : (N,) array-like
        Two classes, as for `tacit.max_margin`.
    mu : sequence of float
        Positive numbers in any order.
    depth : float, optional
        D, 2 or more.
    model : Diagonal or UntiedDiagonal, optional
        Instead of depth, as for `tacit.margin_path`.

    Returns
    -------
    SweepingPath
        A predictor with multipliers for each μ, and the samples that enter and leave the support.

    Raises
    ------
    InputError
        If an argument is invalid.
    NotSeparableError
        If no linear predictor classifies all samples correctly.

    See Also
    --------
    margin_path : Minimizers of Q_μ under the same constraints.
    support_stability : The values of μ for which the two agree.

    Examples
    --------
    >>> import tacit
    >>> path = tacit.sweeping_path([[1, 2], [-2, -3]], [1, -1], [10, 0.01])
    >>> path.converged.tolist(), [(event.sample, event.enters) for event in path.events]
    ([True, True], [])
    """
    begun, names = time.perf_counter(), feature_names(X)
    design, y, levels = check_levels(X, y, mu)
    Z = Margins.of(design, y).Z
    geometry = geometry_of(depth, model, Z.shape[1])
    predictors, duals = np.full((len(levels), Z.shape[1]), np.nan), np.full((len(levels), len(Z)), np.nan)
    support, converged = np.zeros((len(levels), len(Z)), dtype=bool), np.zeros(len(levels), dtype=bool)
    events: list[Kink] = []
    here = _start(Z, geometry, float(levels.max()))
    for i in np.argsort(-levels):
        here = here and _follow(here, 1 / levels[i], events)
        if here is None or here.g < 1 / levels[i]:
            break
        predictors[i], duals[i] = here.place.predictor() * levels[i], here.place.theta
        support[i, here.support], converged[i] = True, True
    reached = math.inf if here is None else 1 / here.g
    return SweepingPath(
        mu=levels,
        predictors=predictors,
        duals=duals,
        support=support,
        converged=converged,
        events=events,
        down_to=float(levels.min() if converged.all() else reached),
        depth=depth_of(geometry),
        seconds=time.perf_counter() - begun,
        X=design.X,
        y=y,
        features=names,
    )


def _start(Z: Float, geometry: Separable, largest: float) -> _Sweep | None:
    """The process shortly after g = 0, where Q is quadratic: the ℓ2 (kernel) margin gives the support."""
    root = np.sqrt(np.exp(geometry.log_scale - geometry.log_scale.max()) / geometry.weight)
    support = least_norm_support(Z * root)
    kernel = root * np.linalg.lstsq(Z[support] * root, np.ones(len(support)), rcond=None)[0]
    unit = 1 / float(np.max(np.abs(kernel) / np.exp(geometry.log_scale)))
    start = MirrorMap.at(geometry.power, geometry.log_scale, np.zeros(Z.shape[1]))
    place = Place(DiagonalPath.begin(Z, geometry.weight, start), geometry.weight, 0.0, np.zeros(len(Z)))
    step = place.turned(min(_FIRST * unit, 1 / largest), np.arange(len(Z)), support)
    return None if step is None else _Sweep(place.moved(step), step, step.contact)


def _follow(here: _Sweep, goal: float, events: list[Kink]) -> _Sweep:
    """The process at g = goal, or as far as it can be followed; appends all events."""
    moves, since, limit = 0, here.g, goal
    while here.g < goal:
        moves, since = (moves + 1, since) if here.g < (1 + _CROWDED) * since else (0, here.g)
        if moves > _MOVES + _MOVES_PER_SAMPLE * len(here.place.theta):
            break
        step = _next_step(here, min(limit, goal, _GROWTH * here.g))
        if step is not None and step.clear():
            here, limit = _after_step(here, here.place, step, here.touching, events), goal
            continue
        event = here.to(here.g) if step is None else _first_event(here, step)
        if event is not None and _may_hide_events(here, event):
            limit = (here.g + event.g) / 2
            continue
        after = None if event is None else _after_event(event, here, step, goal, events)
        if after is None:
            break
        here, limit = after, goal
    return here


def _next_step(here: _Sweep, g: float) -> Step | None:
    """The step to g on the same support; a shorter one if it fails or may hide events."""
    step = here.to(g)
    while g - here.g > _SHORTEST * here.g and (step is None or _may_hide_events(here, step)):
        g = here.g + (g - here.g) / 4
        step = here.to(g)
    return step


def _may_hide_events(here: _Sweep, step: Step) -> bool:
    """Whether a condition that holds at both ends of the step may be violated inside it."""
    return step.g - here.g > _BRIEF * here.g and step.clear() and step.dips(here.step)


def _after_step(here: _Sweep, place: Place, step: Step, contact: Index, events: list[Kink]) -> _Sweep:
    """The process after a step; appends the events at its place. contact: samples with margin g there."""
    touching = np.intersect1d(contact, step.contact)
    for n in np.setxor1d(here.touching, touching):
        events.append(Kink(float(1 / place.g), int(n), bool(n in touching)))
    return _Sweep(place.moved(step), step, touching)


def _after_event(
    event: Step, here: _Sweep, step: Step | None, goal: float, events: list[Kink]
) -> _Sweep | None:
    """The process after the event, on a new support; None if no support is found.

    step: a step beyond the event on the old support, in which conditions are violated.
    """
    place, guess = here.place.moved(event), here.support
    if step is not None:
        if step.g - event.g <= _NEAR * event.g:
            return _after_step(here, here.place, step, here.touching, events)
        guess = np.setdiff1d(guess, step.falling)
        guess = np.union1d(guess, np.intersect1d(step.short, event.contact))
    after = place.turned(min(goal, _GROWTH * event.g), event.contact, guess)
    return None if after is None else _after_step(here, place, after, event.contact, events)


def _first_event(here: _Sweep, step: Step) -> Step | None:
    """The step to the smallest g at which a condition begins to be violated."""
    event = here.to(_crossing(here, step))
    for _ in range(_EARLIER):  # the condition violated at the end need not be the first one to be violated
        if event is None or event.g <= here.g or event.clear():
            break
        event = here.to(_crossing(here, event))
    return event


def _crossing(here: _Sweep, step: Step) -> float:
    """The g at which the conditions that are violated at the end of this step begin to be violated."""
    falling = np.isin(step.support, step.falling)

    def clear(g: float) -> float:
        found = here.to(g)
        if found is None:
            return -1.0
        rates = found.rates[falling] / np.abs(found.rates).max()
        return float(np.append(rates, found.margins[step.short] / g - 1).min())

    begin = here.g * (1 + _SHORTEST)
    if begin >= step.g or clear(begin) <= 0:
        return here.g
    return crossing(clear, begin, step.g, rtol=1e-13)


def support_stability(
    X: Inputs, y: ArrayLike, *, depth: float = 2, model: Model | None = None, down_to: float | None = None
) -> Stability:
    """Check Condition 5 of Moroshko et al. 2020 (stability of the support) on these data.

    At accuracy γ̃ the condition says: every sample whose margin is now above the smallest margin has been
    above it at all earlier accuracies, from accuracies small against α^D on. As α grows, the flow tends to
    the sweeping process of `tacit.sweeping_path`, for which the condition says: every sample that has left
    the support has entered it again.

    Parameters
    ----------
    X : (N, d) array-like, or Prepared
        Rows are samples.
    y : (N,) array-like
        Two classes, as for `tacit.max_margin`.
    depth : float, optional
        D, 2 or more.
    model : Diagonal or UntiedDiagonal, optional
        Instead of depth, as for `tacit.margin_path`.
    down_to : float, optional
        The smallest μ to follow the flow to. By default the μ with μ·α^D = 1e-9·‖w_ℓ2‖₂, where w_ℓ2 is the
        maximum-ℓ2-margin predictor and α = 1 unless a model is given; it does not depend on units of the
        data.

    Returns
    -------
    Stability
        Whether the condition holds, and the samples that violate it.

    Raises
    ------
    InputError
        If an argument is invalid.
    NotSeparableError
        If no linear predictor classifies all samples correctly.

    See Also
    --------
    sweeping_path : The flow at infinite scale.

    Examples
    --------
    >>> import tacit
    >>> tacit.support_stability([[1, 2], [-2, -3]], [1, -1], down_to=0.01).holds
    True
    """
    if down_to is None:
        down_to = _rich_mu(X, y, depth, model)
    elif not float(as_floats(down_to, "down_to", ndim=(0,))) > 0:
        raise InputError(f"down_to must be positive, got {down_to!r}")
    return stability_of(sweeping_path(X, y, down_to, depth=depth, model=model))


def _rich_mu(X: Any, y: Any, depth: float, model: Any) -> float:
    """A μ so small that Q_μ is nearly the ℓ1 norm (for D > 2)."""
    size = max_margin(X, y, "l2").value
    scale = geometry_of(depth, model, np.shape(X)[1]).log_scale.max()
    return float(_RICH * size * np.exp(-scale))


def stability_of(sweeping: SweepingPath) -> Stability:
    """Check the condition on a sweeping path that is already computed."""
    left: dict[int, float] = {}
    breaches: list[Breach] = []
    for event in sweeping.events:
        if not event.enters:
            left[event.sample] = event.mu
        elif event.sample in left:
            breaches.append(Breach(event.sample, left.pop(event.sample), event.mu))
    breaches = [breach for breach in breaches if breach.leaves > breach.returns * (1 + _TIE)]
    breaches += [Breach(sample, mu, 0.0) for sample, mu in left.items()]
    breaches.sort(key=lambda breach: -breach.leaves)
    decided = bool(sweeping.converged.all())
    return Stability(not breaches, tuple(breaches), sweeping.down_to, decided, sweeping)
