r"""The flow of the exponential loss at infinite initialization scale.

With g = γ̃/α^D and W = w/α^D = h_D(Zᵀθ), rows z_n = y_n x_n, the flow tends for α → ∞ to

    θ' ≥ 0,    m_n = z_n·W ≥ g,    θ'_n (m_n − g) = 0

a sweeping process. On a fixed support A it is the equation m_A(θ) = g, and nothing is integrated: only the
events have to be located, where a sample's margin comes down to g (it enters) or its rate [K_AA⁻¹1]_n to 0
(it leaves, and its θ_n stays). It equals the path of Q_μ margins, μ = 1/g, until a sample leaves.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, Index, feature_names
from tacit.data.inputs import Inputs
from tacit.flows.catching_up import Place, Step
from tacit.flows.forms.mirror import MirrorMap
from tacit.flows.forms.separating import DiagonalPath
from tacit.models.model import Model
from tacit.numerics.nonnegative import least_norm_support
from tacit.numerics.roots import crossing
from tacit.potentials.arrays import quiet
from tacit.results.kink import Kink
from tacit.results.sweeping_path import SweepingPath
from tacit.solvers.interpolation.geometry import Separable
from tacit.solvers.margins.constraints import Margins
from tacit.verbs.path_inputs import check_levels, depth_of, geometry_of

_GROWTH = 1.15  # of g in one look ahead
_FIRST = 0.1  # g of the first, in units of the predictor's scale
_SHORTEST = 1e-13  # relative growth of g that is none
_NEAR = 1e-12  # relative growth of g over which nothing can go wrong
_BRIEF = 1e-3  # relative growth of g over which the ends tell all
_EARLIER = 20  # events in a step that may hide each other
_CROWDED, _MOVES = 1e-4, 50  # relative growth of g, and the moves, and 4 a sample, that it may take


@dataclass(frozen=True, eq=False)
class _Sweep:
    """Where the process is, the step that led there, and who has the margin g."""

    place: Place
    step: Step
    touching: Index

    @property
    def g(self) -> float:
        """The least of the margins."""
        return self.place.g

    @property
    def support(self) -> Index:
        """Who pushes."""
        return self.step.support

    def to(self, g: float) -> Step | None:
        """The step to g on the same support."""
        return self.place.step(self.support, g)


@quiet
def sweeping_path(
    X: Inputs, y: ArrayLike, mu: ArrayLike, *, depth: float = 2, model: Model | None = None
) -> SweepingPath:
    """The limit of gradient flow on the exponential loss for α → ∞ at fixed μ = α^D/γ̃, with its events.

        θ' ≥ 0,    m_n(θ) ≥ g,    θ'_n (m_n(θ) − g) = 0,    m = Z h_D(Zᵀθ),  g = 1/μ, rows of Z: y_n x_n

    Moroshko et al. 2020 leave open whether the flow follows the path of Q_μ margins when a support vector
    leaves; it follows this sweeping process. Where samples tie to the last digit it may be impossible to tell
    who pushes: then the process is known down to some μ only, and `converged` says for which of those asked
    for.

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
        In place of depth, as for `tacit.margin_path`.

    Returns
    -------
    SweepingPath
        A predictor with multipliers for each μ, and who enters and leaves the support.

    Raises
    ------
    InputError
        Where an argument is not what it should be.
    NotSeparableError
        Where no linear predictor has all samples on the right side.

    See Also
    --------
    margin_path : Minimizers of Q_μ under the same constraints.
    support_stability : Where the two part.
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
    """The process a little after g = 0, where the geometry is that of a kernel."""
    root = np.sqrt(np.exp(geometry.log_scale - geometry.log_scale.max()) / geometry.weight)
    support = least_norm_support(Z * root)
    kernel = root * np.linalg.lstsq(Z[support] * root, np.ones(len(support)), rcond=None)[0]
    unit = 1 / float(np.max(np.abs(kernel) / np.exp(geometry.log_scale)))
    start = MirrorMap.at(geometry.power, geometry.log_scale, np.zeros(Z.shape[1]))
    place = Place(DiagonalPath.begin(Z, geometry.weight, start), geometry.weight, 0.0, np.zeros(len(Z)))
    step = place.turned(min(_FIRST * unit, 1 / largest), np.arange(len(Z)), support)
    return None if step is None else _Sweep(place.moved(step), step, step.contact)


def _follow(here: _Sweep, goal: float, events: list[Kink]) -> _Sweep:
    """The process at g = goal, or as far as it can be followed, with all events on the way."""
    moves, since, limit = 0, here.g, goal
    while here.g < goal:
        moves, since = (moves + 1, since) if here.g < (1 + _CROWDED) * since else (0, here.g)
        if moves > _MOVES + 4 * len(here.place.theta):
            break
        step = _ahead(here, min(limit, goal, _GROWTH * here.g))
        if step is not None and step.clear():
            here, limit = _moved(here, here.place, step, here.touching, events), goal
            continue
        event = here.to(here.g) if step is None else _first_event(here, step)
        if event is not None and _hides(here, event):
            limit = (here.g + event.g) / 2
            continue
        after = None if event is None else _past(event, here, step, goal, events)
        if after is None:
            break
        here, limit = after, goal
    return here


def _ahead(here: _Sweep, g: float) -> Step | None:
    """The step to g on the same support; less far if there is none, or if more may happen than is seen."""
    step = here.to(g)
    while g - here.g > _SHORTEST * here.g and (step is None or _hides(here, step)):
        g = here.g + (g - here.g) / 4
        step = here.to(g)
    return step


def _hides(here: _Sweep, step: Step) -> bool:
    return step.g - here.g > _BRIEF * here.g and step.clear() and step.dips(here.step)


def _moved(here: _Sweep, place: Place, step: Step, contact: Index, events: list[Kink]) -> _Sweep:
    """The process after a step from a place where contact has the margin g, with what changes there."""
    touching = np.intersect1d(contact, step.contact)
    for n in np.setxor1d(here.touching, touching):
        events.append(Kink(float(1 / place.g), int(n), bool(n in touching)))
    return _Sweep(place.moved(step), step, touching)


def _past(event: Step, here: _Sweep, step: Step | None, goal: float, events: list[Kink]) -> _Sweep | None:
    """The process beyond the event, on another support; None if there is none.

    step: one in which conditions are violated from the event on.
    """
    place, guess = here.place.moved(event), here.support
    if step is not None:
        if step.g - event.g <= _NEAR * event.g:
            return _moved(here, here.place, step, here.touching, events)
        guess = np.setdiff1d(guess, step.falling)
        guess = np.union1d(guess, np.intersect1d(step.short, event.contact))
    after = place.turned(min(goal, _GROWTH * event.g), event.contact, guess)
    return None if after is None else _moved(here, place, after, event.contact, events)


def _first_event(here: _Sweep, step: Step) -> Step | None:
    """The step to the g at which the first of all conditions begins to be violated."""
    event = here.to(_crossing(here, step))
    for _ in range(_EARLIER):  # what is violated at the end need not be what is violated first
        if event is None or event.g <= here.g or event.clear():
            break
        event = here.to(_crossing(here, event))
    return event


def _crossing(here: _Sweep, step: Step) -> float:
    """The g at which a condition that is violated at the end of this step begins to be."""
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
