"""What a derivation found: verdict, numbers, potential, conserved quantities, and a model made of them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.derivation.affine_image import Coordinates, FlatPotential
from tacit.derivation.candidates import Candidate
from tacit.derivation.conserved import Conserved
from tacit.derivation.polynomials import Search, searched
from tacit.derivation.potential import DerivedPotential
from tacit.derivation.smooth_map import Jets
from tacit.derivation.span import ZERO
from tacit.errors import NoPotentialError
from tacit.models.function import FunctionModel, Mapped
from tacit.models.parametrizations import Invariants
from tacit.models.reduction import Weights
from tacit.pickling import can_be_pickled, name_of_function
from tacit.results.delegation import delegate
from tacit.results.result import Drawn

_SHOWN = 6  # conserved quantities in a summary


@dataclass(frozen=True, eq=False)
class Derivation:
    """What gradient flow of w = F(θ) from θ₀ minimizes, or why it minimizes nothing.

    All sizes are relative, the largest over the sampled points; those up to `tolerance` count as 0.

    Attributes
    ----------
    kind : str
        "mirror" (∇Q(w)' = −∇L), "warped" (the same in another clock), "none" or "undecided".
    reason : str
        Why.
    commutator : float
        The largest bracket of two gradient fields ∇Fᵢ, relative to its terms.
    reachable_dimension : int
        That of their Lie algebra along the orbit of θ₀, and so of the orbit.
    closed : bool
        False where that may be larger, since a size is neither 0 nor clear.
    rank : int
        That of the Jacobian on the orbit.
    hessian_violation : float
        |∂_kH_ij − ∂_jH_ik| of the metric H; like the following, NaN where the Jacobian has no full rank.
    warp_residual : float
        What the best warp leaves of it.
    warp_curl : float
        The curl of that warp.
    fibre_change : float
        How much M = JJᵀ changes, beyond a factor, where w does not.
    samples : int
        How many points were sampled.
    radius : float
        The length of the orbits to them, relative to `length`.
    seconds : float
        How long it took.
    tolerance : float
        Sizes up to this count as 0.
    candidates : tuple
        What became of proposed conserved quantities.
    length : float
        How far from θ₀ the Jacobian of the map becomes another one: the map's own scale there.
    nearby_dimension : int
        What flows from generic starts near θ₀ reach; larger than `reachable_dimension` where θ₀ is special.
    basis : (d, r) array or None
        Orthonormal columns B where the image lies in the affine subspace w₀ + span B of dimension r < d. The
        verdict and the potential are then those of the coordinates Bᵀ(w − w₀).
    function_model : Model
        F and θ₀ as a model, for `tacit.flow`.
    """

    kind: str
    reason: str
    commutator: float
    reachable_dimension: int
    closed: bool
    rank: int
    hessian_violation: float
    warp_residual: float
    warp_curl: float
    fibre_change: float
    samples: int
    radius: float
    seconds: float
    tolerance: float = ZERO
    candidates: tuple[Candidate, ...] = ()
    length: float = math.nan
    nearby_dimension: int = 0
    basis: Float | None = None
    function_model: FunctionModel = field(repr=False, kw_only=True)
    _jets: Jets = field(repr=False, kw_only=True)

    def __getstate__(self) -> dict[str, Any]:
        """With what is computed on demand, if the function cannot be pickled and computes it no more."""
        if not can_be_pickled(self.function_model.function):
            _ = self.conserved, self._origin
        return vars(self)

    def __repr__(self) -> str:
        return f"Derivation({self.kind}: {self.name}, {self.parameters} parameters → {self.features})"

    @property
    def name(self) -> str:
        """That of the function."""
        return name_of_function(self.function_model.function)

    @property
    def theta0(self) -> Float:
        """The start, as one vector."""
        return np.concatenate([np.ravel(each) for each in self.function_model.start().values()])

    @property
    def parameters(self) -> int:
        """p, the number of parameters."""
        return len(self.theta0)

    @property
    def features(self) -> int:
        """d, the number of entries of w."""
        return self.function_model.features

    @cached_property
    def potential(self) -> DerivedPotential | FlatPotential:
        """Q, by integration along the leaf of θ₀; `NoPotentialError` with the reason where there is none.

        Where the image lies in an affine subspace (`basis`), Q is a function of w on it, and no other w.
        """
        if self.kind not in ("mirror", "warped"):
            raise NoPotentialError(self.reason)
        jets = self._jets if self.basis is None else Coordinates.of(self._jets, self.basis)
        Q = DerivedPotential(jets, self.function_model, self.theta0, self.kind == "warped", self.length)
        return Q if self.basis is None else FlatPotential(Q, self.basis, self._jets.value(self.theta0))

    @cached_property
    def _origin(self) -> Float:
        """w₀ = F(θ₀)."""
        return self._jets.value(self.theta0)

    @property
    def conserved_number(self) -> int:
        """How many independent quantities every flow near θ₀ conserves: p − the dimension that they reach.

        An upper bound where `closed` is False.
        """
        return self.parameters - max(self.nearby_dimension, self.reachable_dimension)

    @property
    def conserved_here(self) -> int:
        """How many the flows from θ₀ itself conserve: more than those nearby where θ₀ is special.

        An upper bound where `closed` is False.
        """
        return self.parameters - self.reachable_dimension

    @cached_property
    def _search(self) -> Search:
        return searched(self._jets, self.theta0, self.conserved_number, self.length)

    @property
    def conserved(self) -> tuple[Conserved, ...]:
        """Those that are polynomials of degree 2 at most, as functions of the flat θ, each with its drift."""
        return self._search.laws

    @property
    def model(self) -> DerivedModel:
        """The model F from θ₀, with this potential: what every verb takes."""
        return DerivedModel(self.function_model.function, self.function_model.theta0, self)

    def picture(self, plane: Any = (0, 1)) -> Drawn:
        """Level sets of Q in two coordinates, others free, with flows that end where they touch solutions.

        Without a potential: flows from θ₀ to one line of solutions under several losses, which end apart.

        Parameters
        ----------
        plane : (int, int), optional
            The two coordinates.

        Returns
        -------
        Drawn
            What `plot` draws.
        """
        drawn: Drawn = delegate(self, "picture", plane)
        return drawn

    def plot(self, file: str | Path | None = None, *, plane: Any = (0, 1)) -> Any:
        """Draw it: into a file (.png, .pdf or .svg), whose path is returned, or as a figure of Matplotlib.

        Parameters
        ----------
        file : path, optional
            Where to write it; its ending says how.
        plane : (int, int), optional
            The two coordinates.

        Returns
        -------
        Path or matplotlib.figure.Figure
            The file, or the figure where none was named.
        """
        return self.picture(plane).to(file)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON; None for what could not be measured."""
        numbers = (
            "commutator",
            "hessian_violation",
            "warp_residual",
            "warp_curl",
            "fibre_change",
            "tolerance",
        )
        return {
            "kind": self.kind,
            "reason": self.reason,
            "function": self.name,
            "parameters": self.parameters,
            "features": self.features,
            "reachable_dimension": self.reachable_dimension,
            "closed": self.closed,
            "rank": self.rank,
            **{each: _finite(getattr(self, each)) for each in numbers},
            "conserved_number": self.conserved_number,
            "conserved_here": self.conserved_here,
            "conserved": [{"polynomial": law.text, "drift": _finite(law.drift)} for law in self.conserved],
            "candidates": [asdict(each) for each in self.candidates],
            "samples": self.samples,
            "radius": self.radius,
            "length": self.length,
            "subspace": None if self.basis is None else self.basis.tolist(),
            "seconds": self.seconds,
            "theta0": self.theta0.tolist(),
            "predictor": self._origin.tolist(),
        }

    def summary(self) -> str:
        """The verdict, the numbers it rests on, and why, a line each."""
        sizes = (
            ("bracket", self.commutator),
            ("Hessian test", self.hessian_violation),
            ("warp", self.warp_residual),
            ("curl", self.warp_curl),
        )
        numbers = "   ".join(f"{name} {size:.0e}" for name, size in sizes if math.isfinite(size))
        more = "" if self.closed else "at least "
        lines = {
            "map": f"{self.name}: {self.parameters} parameters to {self.features} features",
            "verdict": self.kind,
            "image": self._subspace(),
            "reach": f"{more}{self.reachable_dimension} of {self.parameters} dimensions, "
            f"Jacobian of rank {self.rank}".strip(),
            "sizes": f"{numbers}   (0 up to {self.tolerance:.0e})",
            "conserved": self._laws(),
            "candidates": "; ".join(map(str, self.candidates)),
            "why": self.reason,
        }
        lines = {key: value for key, value in lines.items() if value}
        return "\n".join(f"  {key:<12} {value}" for key, value in lines.items())

    def _subspace(self) -> str:
        """Where w moves, if not everywhere."""
        if self.basis is None:
            return ""
        d, r = self.basis.shape
        return (
            f"in the affine subspace w₀ + span B of dimension {r} of {d}; the potential is one of Bᵀ(w − w₀)"
        )

    def _laws(self) -> str:
        """How many, and the first of those that were found."""
        written = [law.text for law in self.conserved]
        shown = "; ".join(written[:_SHOWN]) + ("; …" if len(written) > _SHOWN else "")
        found = f", {len(written)} of them quadratic: {shown}" if written else ""
        if not written:
            found = f", not searched: {self._search.why}"
            if self._search.complete:
                found = ", none of them quadratic" if self.closed else ", no quadratic one was found"
        most = "" if self.closed or self.conserved_number == 0 else "at most "
        noun = "quantity" if self.conserved_number == 1 else "quantities"
        here = self.conserved_here - self.conserved_number
        special = f" ({here} more from this special start alone)" if here else ""
        return f"{most}{self.conserved_number} {noun}{found if self.conserved_number else ''}{special}"


@dataclass(frozen=True)
class _Monitored(Mapped):
    """w = function(θ), with polynomials of θ that its flows conserve."""

    laws: tuple[Conserved, ...]

    def invariants(self, weights: Weights) -> Invariants:
        """The polynomials, by how they are written."""
        theta = np.concatenate([np.ravel(each) for each in weights.values()])
        return {law.text: (np.asarray(law(theta)), np.asarray(law.terms(theta))) for law in self.laws}


@dataclass(frozen=True, eq=False)
class DerivedModel(FunctionModel):
    """w = F(θ) from θ₀, with the potential that was derived for it."""

    derivation: Derivation

    @property
    def parametrization(self) -> Mapped:
        """θ ↦ w, with what is conserved."""
        known = super().parametrization
        return _Monitored(known.function, known.single, self.derivation.conserved)

    def potential(self, d: int | None = None) -> DerivedPotential | FlatPotential:
        """That of the derivation."""
        self.start(d)
        return self.derivation.potential

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self.derivation.kind})"


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
