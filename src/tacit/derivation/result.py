"""The result of a derivation: verdict, numbers, potential, conserved quantities, and a model with them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.display import Displayed
from tacit.data.json_values import as_json
from tacit.derivation.affine_image import FlatPotential, in_coordinates
from tacit.derivation.closure import ZERO
from tacit.derivation.conserved import Candidate, Conserved
from tacit.derivation.polynomials import Search, search_polynomials
from tacit.derivation.potential import DerivedPotential
from tacit.derivation.smooth_map import Jets
from tacit.errors import NoPotentialError
from tacit.models.function import FunctionModel, Mapped
from tacit.models.parametrizations import Invariants
from tacit.models.reduction import Weights
from tacit.pickling import can_be_pickled, name_of_function
from tacit.results.delegation import delegate
from tacit.results.result import Drawn
from tacit.show.text import aligned

_SHOWN = 6  # conserved quantities in a summary


@dataclass(frozen=True, eq=False, repr=False)
class Derivation(Displayed):
    """The potential of gradient flow of w = F(θ) from θ₀, or the reason why there is none.

    All sizes are relative, and the largest over the sampled points; sizes up to `tolerance` count as 0.

    Attributes
    ----------
    kind : str
        "mirror" (∇Q(w)' = −∇L), "warped" (the same in another clock), "none" or "undecided".
    reason : str
        The reason for this verdict.
    commutator : float
        The largest bracket of two gradient fields ∇Fᵢ, relative to its terms.
    reachable_dimension : int
        The dimension of their Lie algebra along the orbit of θ₀, which is that of the orbit.
    closed : bool
        False if this dimension may be larger, because a size is neither clearly 0 nor clearly nonzero.
    rank : int
        The rank of the Jacobian on the orbit.
    hessian_violation : float
        |∂_kH_ij − ∂_jH_ik| of the metric H; like the next three, NaN if the Jacobian does not have full rank.
    warp_residual : float
        The part of it that remains with the best warp.
    warp_curl : float
        The curl of this warp.
    fibre_change : float
        The change of M = JJᵀ, up to a factor, in directions in which w does not change.
    samples : int
        The number of sampled points.
    radius : float
        The length of the orbits to them, relative to `length`.
    seconds : float
        The time that the derivation took.
    tolerance : float
        Sizes up to this count as 0.
    candidates : tuple
        The results for the proposed conserved quantities.
    length : float
        The length scale of the map: the distance from θ₀ over which its Jacobian changes.
    nearby_dimension : int
        The dimension that flows from generic starts near θ₀ reach; larger than `reachable_dimension` if θ₀ is
        special.
    basis : (d, r) array or None
        Orthonormal columns B, if the image lies in the affine subspace w₀ + span B of dimension r < d.
        Verdict and potential are then those of the coordinates Bᵀ(w − w₀).
    function_model : Model
        F and θ₀ as a model, for `tacit.flow`.

    Examples
    --------
    >>> import tacit
    >>> found = tacit.derive(lambda t: t[:1] * t[1:], [1.0, 0.5])
    >>> found.kind, found.reachable_dimension, found.conserved
    ('mirror', 1, (Conserved(θ₁² − θ₂²),))
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
        """Include what is computed on demand, if a copy without the function could not compute it."""
        if not can_be_pickled(self.function_model.function):
            _ = self.conserved, self._origin
        return vars(self)

    def __repr__(self) -> str:
        return f"Derivation({self.kind}: {self.name}, {self.parameters} parameters → {self.features})"

    @property
    def name(self) -> str:
        """The name of the function."""
        return name_of_function(self.function_model.function)

    @property
    def theta0(self) -> Float:
        """θ₀ as one vector."""
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
        """Q, by integration along the orbit of θ₀; raises `NoPotentialError` if there is none.

        If the image lies in an affine subspace (`basis`), Q is defined on this subspace only.
        """
        if self.kind not in ("mirror", "warped"):
            raise NoPotentialError(self.reason)
        jets = self._jets if self.basis is None else in_coordinates(self._jets, self.basis)
        Q = DerivedPotential(jets, self.function_model, self.theta0, self.kind == "warped", self.length)
        return Q if self.basis is None else FlatPotential(Q, self.basis, self._jets.value(self.theta0))

    @cached_property
    def _origin(self) -> Float:
        """w₀ = F(θ₀)."""
        return self._jets.value(self.theta0)

    @property
    def conserved_number(self) -> int:
        """The number of independent quantities that all flows near θ₀ conserve: p − the dimension they reach.

        An upper bound if `closed` is False.
        """
        return self.parameters - max(self.nearby_dimension, self.reachable_dimension)

    @property
    def conserved_here(self) -> int:
        """The number of independent quantities that flows from θ₀ conserve, larger if θ₀ is special.

        An upper bound if `closed` is False.
        """
        return self.parameters - self.reachable_dimension

    @cached_property
    def _search(self) -> Search:
        return search_polynomials(self._jets, self.theta0, self.conserved_number, self.length)

    @property
    def conserved(self) -> tuple[Conserved, ...]:
        """The conserved polynomials of degree at most 2, as functions of the flat θ, each with its drift."""
        return self._search.laws

    @property
    def model(self) -> DerivedModel:
        """F from θ₀ as a model with this potential, which all functions of Tacit accept."""
        return DerivedModel(self.function_model.function, self.function_model.theta0, self)

    def picture(self, plane: Any = (0, 1)) -> Drawn:
        """Level sets of Q, minimized over all but two coordinates, with flows that end where they touch.

        Without a potential: flows from θ₀ to one line of solutions under several losses, which end at
        different points.

        Parameters
        ----------
        plane : (int, int), optional
            The two coordinates.

        Returns
        -------
        Drawn
            The picture that `plot` draws.
        """
        drawn: Drawn = delegate(self, "picture", plane)
        return drawn

    def plot(self, file: str | Path | None = None, ax: Any = None, *, plane: Any = (0, 1)) -> Any:
        """Draw the picture to a file (.png, .pdf or .svg), into given axes, or as a Matplotlib figure.

        Parameters
        ----------
        file : path, optional
            The file; its suffix determines the format.
        ax : matplotlib.axes.Axes, optional
            Your own axes to draw into.
        plane : (int, int), optional
            The two coordinates.

        Returns
        -------
        Path, matplotlib.figure.Figure or axes
            The file, `ax` if it is given, or a figure, which a notebook displays once.
        """
        return self.picture(plane).to(file, ax)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain numbers and lists for JSON; None for what could not be measured."""
        verdict = "kind", "reason", "parameters", "features", "reachable_dimension", "closed", "rank"
        sizes = "commutator", "hessian_violation", "warp_residual", "warp_curl", "fibre_change", "tolerance"
        others = "conserved_number", "conserved_here", "samples", "radius", "length", "seconds", "theta0"
        found: dict[str, Any] = as_json(
            {name: getattr(self, name) for name in (*verdict, *sizes, *others)}
            | {
                "function": self.name,
                "conserved": [{"polynomial": law.text, "drift": law.drift} for law in self.conserved],
                "candidates": [asdict(each) for each in self.candidates],
                "subspace": self.basis,
                "predictor": self._origin,
            }
        )
        return found

    def summary(self) -> str:
        """The verdict, the numbers on which it rests, and the reason, one line each."""
        sizes = (
            ("bracket", self.commutator),
            ("Hessian test", self.hessian_violation),
            ("warp", self.warp_residual),
            ("curl", self.warp_curl),
        )
        numbers = ", ".join(f"{name} = {size:.0e}" for name, size in sizes if math.isfinite(size))
        more = "" if self.closed else "at least "
        lines = {
            "map": f"{self.name}: {self.parameters} parameters to {self.features} features",
            "verdict": self.kind,
            "image": self._subspace(),
            "reach": f"{more}{self.reachable_dimension} of {self.parameters} dimensions, Jacobian of rank "
            f"{self.rank}",
            "measured": f"{numbers} (0 up to the tolerance {self.tolerance:.0e})",
            "conserved": self._laws(),
            "candidates": "; ".join(map(str, self.candidates)),
            "why": self.reason,
        }
        return aligned({key: value for key, value in lines.items() if value}, 11)

    def _repr_latex_(self) -> str | None:
        """The conserved quantities as formulas, for formats without tables in HTML; None without any."""
        laws = [rf"I_{{{at}}} &= {law.latex()}" for at, law in enumerate(self.conserved[:_SHOWN], start=1)]
        rows = " \\\\ ".join(laws)
        return rf"$\displaystyle \begin{{aligned}} {rows} \end{{aligned}}$" if laws else None

    def _subspace(self) -> str:
        """The affine subspace that contains w, if there is one."""
        if self.basis is None:
            return ""
        d, r = self.basis.shape
        return f"in the affine subspace w₀ + span B of dimension {r} of {d}; Q is a function of Bᵀ(w − w₀)"

    def _laws(self) -> str:
        """The number of conserved quantities, and the first of those found."""
        texts = [law.text for law in self.conserved]
        if texts:
            shown = "; ".join(texts[:_SHOWN]) + ("; …" if len(texts) > _SHOWN else "")
            found = f", {len(texts)} of them quadratic: {shown}"
        elif self._search.why:
            found = f", {self._search.why}"
        else:
            found = ", none of them quadratic" if self.closed else ", no quadratic one was found"
        most = "" if self.closed or self.conserved_number == 0 else "at most "
        noun = "quantity" if self.conserved_number == 1 else "quantities"
        here = self.conserved_here - self.conserved_number
        special = f" ({here} more from this special start)" if here else ""
        return f"{most}{self.conserved_number} {noun}{found if self.conserved_number else ''}{special}"


@dataclass(frozen=True)
class _Monitored(Mapped):
    """w = function(θ), with polynomials of θ that gradient flow conserves."""

    laws: tuple[Conserved, ...]

    def invariants(self, weights: Weights) -> Invariants:
        """The values of the polynomials by their text, each with the size of its terms."""
        theta = np.concatenate([np.ravel(each) for each in weights.values()])
        return {law.text: (np.asarray(law(theta)), np.asarray(law.terms(theta))) for law in self.laws}


@dataclass(frozen=True, eq=False)
class DerivedModel(FunctionModel):
    """w = F(θ) from θ₀, with the derived potential."""

    derivation: Derivation

    @property
    def parametrization(self) -> Mapped:
        """θ ↦ w, with the conserved polynomials."""
        known = super().parametrization
        return _Monitored(known.function, known.single, self.derivation.conserved)

    def potential(self, d: int | None = None) -> DerivedPotential | FlatPotential:
        """The potential of the derivation."""
        self.start(d)
        return self.derivation.potential

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self.derivation.kind})"
