"""Diagonal linear networks, in which every coordinate of the predictor has its own weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, as_floats, as_number
from tacit.data.printable import shown
from tacit.errors import InputError, NoPotentialError
from tacit.models.layered import CoordinatewiseModel, LayeredDiagonal, layered, same_length, span
from tacit.models.model import MirrorForm, Model
from tacit.models.parametrizations import Powers, Products, Weights
from tacit.models.weight_pair import WeightPair, weights_at
from tacit.potentials import Bregman, DeepHypentropy, Hypentropy
from tacit.potentials.arrays import quiet
from tacit.potentials.norms import VanishingScale

_DEEPEST = 1e6  # for larger depths the power p = D/(D−2) of the potential is 1 to six digits
_LARGEST_POWER = 300  # of 10, that is formatted as a float


@dataclass(frozen=True, eq=False)
class Diagonal(CoordinatewiseModel):
    """A diagonal network β = w₊^D − w₋^D with w₊(0) = w₋(0) = scale·profile.

    See Woodworth et al. 2020, equations 3 and 10. D is the depth.

    The scale multiplies the *weights*: the predictor's scale is scale**depth (times profile**depth). To match
    `UntiedDiagonal(scale=a)`, whose scale is that of a product of two weights, use depth 2, scale=√a.

    Parameters
    ----------
    depth : float, optional
        D, a real number from 2 on.
    scale : float, optional
        The scale α of the initial weights. 0 stands for the limit of solutions as α → 0, for `tacit.limit`;
        the flow itself does not leave weights that start at 0 (see `tacit.saddle_path`).
    profile : (d,) array-like, optional
        Positive initial weights of each feature relative to the scale; ones by default.
    log_scale : float, optional
        The logarithm of the scale, for scales outside the floating-point range, such as log_scale=-1000.

    Raises
    ------
    InputError
        If an argument is invalid.

    See Also
    --------
    UntiedDiagonal : Two layers that need not be equal.
    tacit.potentials.Hypentropy : The potential at depth 2.
    tacit.potentials.DeepHypentropy : The potential at larger depths.

    Examples
    --------
    >>> import tacit
    >>> model = tacit.Diagonal(depth=3, scale=1e-3)
    >>> tacit.limit(model, [[1, 2]], [2]).predictor.round(3).tolist()
    [0.0, 1.0]
    """

    depth: float = 2
    scale: float = 1.0
    profile: Any = None
    log_scale: float | None = None
    path_clock = r"$\mu = \alpha^D / \tilde\gamma$"

    def __post_init__(self) -> None:
        depth = as_number(self.depth, "depth")
        if depth < 2:
            meant = f"; the first argument is depth: did you mean scale={self.depth}?" if depth < 1 else ""
            raise InputError(
                f"depth must be at least 2, got {self.depth}{meant or '; depth 1 is plain linear regression'}"
            )
        if depth > _DEEPEST:
            raise InputError(f"depth must be at most {_DEEPEST:g}, got {self.depth}")
        if self.log_scale is None:
            if as_number(self.scale, "scale") < 0:
                raise InputError(
                    f"scale must be positive, or 0 for the limit of small scales, got {self.scale} "
                    "(for scales below 1e-308, use log_scale)"
                )
        elif self.scale != 1.0:
            raise InputError("give scale or log_scale, not both")
        else:
            as_number(self.log_scale, "log_scale")
        if self.profile is not None:
            profile = as_floats(self.profile, "profile", ndim=(1,))
            if not (profile > 0).all():
                i = int(np.argmax(profile <= 0))
                raise InputError(f"profile must be positive, got profile[{i}] = {profile[i]}")
            self._store(profile=profile.copy())

    def __repr__(self) -> str:
        size = (
            f"scale={shown(self.scale)}" if self.log_scale is None else f"log_scale={shown(self.log_scale)}"
        )
        profile = "" if self.profile is None else f", profile=<{len(self.profile)} numbers>"
        return f"Diagonal(depth={shown(self.depth)}, {size}{profile})"

    def describe(self) -> str:
        """The model and its scale, in one line."""
        if self._vanishing:
            return f"{self!r}: the limit of the solutions as the scale of the weights vanishes"
        log_weight = self._log_alpha / math.log(10)
        return (
            f"{self!r}: initial weights = {_power_of_ten(log_weight)}, "
            f"predictor scale = {_power_of_ten(self.depth * log_weight)}"
        )

    @property
    def _vanishing(self) -> bool:
        return self.log_scale is None and self.scale == 0

    def _check_moving(self) -> None:
        """Raise `InputError` for weights that start at 0."""
        if self._vanishing:
            raise InputError(
                "weights that start at 0 stay at 0: scale=0 is for tacit.limit, where it stands for the "
                "limit of small scales; use tacit.saddle_path for the limit of the path, or a small scale"
            )

    @property
    def _log_alpha(self) -> float:
        return math.log(self.scale) if self.log_scale is None else float(self.log_scale)

    @property
    def _start(self) -> Float:
        """The initial weight of each coordinate (a single one for all without a profile)."""
        profile = np.ones(1) if self.profile is None else self.profile
        with np.errstate(under="ignore", over="ignore"):
            return profile * (self.scale if self.log_scale is None else np.exp(self.log_scale))

    def _check_features(self, d: int | None) -> None:
        if self.profile is not None and d not in (None, len(self.profile)):
            raise InputError(f"profile has {len(self.profile)} entries but the data has {d} features")

    @property
    def parametrization(self) -> Powers:
        """w₊^D − w₋^D."""
        return Powers(self.depth)

    @property
    def _initial(self) -> Weights:
        """w₊ = w₋."""
        self._check_moving()
        return {"w₊": self._start, "w₋": self._start}

    def potential(self, d: int | None = None) -> Hypentropy | DeepHypentropy | VanishingScale:
        """Q of Theorem 1 (depth 2) or Theorem 3 (deeper) for d features; its limit at scale 0."""
        self._check_features(d)
        if self._vanishing:
            return VanishingScale.of(self.depth, self.profile)
        log_profile: Any = 0.0 if self.profile is None else np.log(self.profile)
        log_scale = self.depth * (self._log_alpha + log_profile)
        if self.depth == 2:
            return Hypentropy(log_scale)
        return DeepHypentropy(self.depth, log_scale, np.exp((2 - self.depth) * log_profile))

    def mirror_form(self, d: int) -> MirrorForm:
        """d(∇Q)/dt = D(D−2)α^{D−2}·Xᵀ(−∂L/∂f); four times it, at depth 2 (Theorem 1's proof, Lemma 8)."""
        self._check_moving()
        D, potential = self.depth, self.potential(d)
        log_speed = math.log(4) if D == 2 else math.log(D * (D - 2)) + (D - 2) * self._log_alpha
        log_scale, weight = (np.broadcast_to(each, (d,)) for each in (potential.log_scale, potential.weight))
        return MirrorForm(potential.power, log_scale, weight, np.zeros(d), log_speed, self._lift)

    def weight_pair(self, d: int) -> WeightPair:
        """w₊ and w₋ themselves."""
        self._check_features(d)
        self._check_moving()
        start = np.broadcast_to(self._start, (d,))

        def model(plus: Float, minus: Float) -> Model:
            if np.array_equal(plus, minus):
                return Diagonal(self.depth, profile=plus)
            if self.depth != int(self.depth):
                raise NoPotentialError(
                    f"a network of depth {self.depth} with w₊ ≠ w₋ is not one of whole layers; choose a "
                    "whole number as depth"
                )
            layers = int(self.depth)
            return UntiedDiagonal.from_layers([plus] * layers, [minus] * layers)

        def lift(plus: Float, minus: Float) -> Weights:
            return {"w₊": plus, "w₋": minus}

        return WeightPair(start, start, self.depth, self.depth, lift, model)

    def _lift(self, u: Float) -> Weights:
        """The weights at rapidity u."""
        return dict(zip(("w₊", "w₋"), weights_at(u, self.depth, self._start), strict=True))


@dataclass(frozen=True, eq=False)
class UntiedDiagonal(CoordinatewiseModel):
    """A diagonal network w̃ = u₊∘v₊ − u₋∘v₋ with two layers of any size (Azulay et al. 2021, Section 4).

    The scale is the *product* |u||v| of the layers, and shape = (|v|/|u| − 1)/(|v|/|u| + 1) compares their
    sizes (Section 7.1): u± = √(scale·(1−s)/(1+s)), v± = √(scale·(1+s)/(1−s)). The initialization is unbiased,
    w̃(0) = 0; `from_weights` accepts any weights. `UntiedDiagonal(scale=α²)` is `Diagonal(depth=2, scale=α)`.

    Parameters
    ----------
    scale : float or (d,) array-like, optional
        The positive product |u||v| of the layers.
    shape : float or (d,) array-like, optional
        s, between −1 and 1.

    Raises
    ------
    InputError
        If an argument is invalid.

    See Also
    --------
    Diagonal : Equal layers, of any depth.

    Examples
    --------
    >>> import tacit
    >>> model = tacit.UntiedDiagonal(scale=1e-8, shape=0.9)
    >>> tacit.limit(model, [[1, 2]], [2]).predictor.round(2).tolist()
    [0.0, 1.0]
    """

    scale: Any = 1.0
    shape: Any = 0.0
    _weights: tuple[Float, Float, Float, Float] | None = None
    path_clock = r"$\mu = \sqrt{k} / (4\tilde\gamma)$"

    def __post_init__(self) -> None:
        if self._weights is not None:
            return
        scale = as_floats(self.scale, "scale", ndim=(0, 1))
        shape = as_floats(self.shape, "shape", ndim=(0, 1))
        if not (scale > 0).all():
            raise InputError(f"scale must be positive, got {scale.min()}; weights that start at 0 stay at 0")
        if not (np.abs(shape) < 1).all():
            raise InputError(
                f"shape must lie strictly between -1 and 1, got {shape.flat[np.abs(shape).argmax()]}; "
                "at ±1 one layer is zero and the other infinite"
            )
        if scale.ndim == shape.ndim == 1 and len(scale) != len(shape):
            raise InputError(f"scale has {len(scale)} entries and shape has {len(shape)}; they must match")
        u = np.atleast_1d(np.sqrt(scale) * np.sqrt((1 - shape) / (1 + shape)))
        v = np.atleast_1d(np.sqrt(scale) * np.sqrt((1 + shape) / (1 - shape)))
        given = {"scale": scale, "shape": shape}
        kept = {name: float(each) if each.ndim == 0 else each.copy() for name, each in given.items()}
        self._store(**kept, _weights=(u, v, u, v))

    @classmethod
    def from_weights(
        cls, u_plus: ArrayLike, v_plus: ArrayLike, u_minus: ArrayLike, v_minus: ArrayLike
    ) -> UntiedDiagonal:
        """A network with any initial weights: of any sign, also 0, and with w̃(0) ≠ 0 (biased).

        Parameters
        ----------
        u_plus, v_plus, u_minus, v_minus : (d,) array-like
            The initial weights; the predictor is u₊∘v₊ − u₋∘v₋.

        Returns
        -------
        UntiedDiagonal
            The network with these weights.
        """
        weights = same_length(u_plus=u_plus, v_plus=v_plus, u_minus=u_minus, v_minus=v_minus)
        u, v = np.abs(weights[:2])
        shape = (v - u) / np.where(u + v > 0, u + v, 1.0)
        return cls(u * v, shape, tuple(weights))

    @classmethod
    def from_layers(
        cls, plus: Sequence[ArrayLike], minus: Sequence[ArrayLike] | None = None
    ) -> UntiedDiagonal | LayeredDiagonal:
        """A network w = ∏ plusⱼ − ∏ minusⱼ of two or more layers, with any initial weights.

        Parameters
        ----------
        plus : sequence of float or (d,) array-like
            The initial layers whose product is added.
        minus : sequence of float or (d,) array-like, optional
            The initial layers whose product is subtracted; by default plus, so that w(0) = 0 (unbiased).

        Returns
        -------
        UntiedDiagonal or LayeredDiagonal
            The network with these layers.
        """
        first, second = layered(plus, plus if minus is None else minus)
        if len(first) == 2:
            return cls.from_weights(*first, *second)
        return LayeredDiagonal(first, second)

    def __repr__(self) -> str:
        u, v, u_minus, v_minus = self._layers
        if not (np.array_equal(u, u_minus) and np.array_equal(v, v_minus)):
            return f"UntiedDiagonal.from_weights(<{len(u)} coordinates>)"
        both = (self.scale, self.shape)
        scale, shape = (shown(each) if np.ndim(each) == 0 else f"<{len(each)} numbers>" for each in both)
        return f"UntiedDiagonal(scale={scale}, shape={shape})"

    def describe(self) -> str:
        """The model and its scale, in one line."""
        scale = span(np.exp(self._log_predictor_scale()))
        return f"{self!r}: √k/4 = {scale} (the scale that decides the regime)"

    @property
    def _layers(self) -> tuple[Float, Float, Float, Float]:
        assert self._weights is not None
        return self._weights

    @property
    def _initial(self) -> Weights:
        """u₊, v₊, u₋, v₋."""
        return dict(zip(("u₊", "v₊", "u₋", "v₋"), self._layers, strict=True))

    def _light_cone(self) -> tuple[Float, Float]:
        """P = (u₊+v₊)² + (u₋−v₋)² and N = (u₊−v₊)² + (u₋+v₋)².

        The flow multiplies u₊+v₊ and u₋−v₋ by e^{τ}, and the other two by e^{−τ}. Hence
        w̃ = (P e^{2τ} − N e^{−2τ})/4 = (√k/2) sinh(2τ + ½ log(P/N)) with √k = √(PN). This is the k of
        Appendix A in a form without cancellation.
        """
        u, v, u_minus, v_minus = self._layers
        return (u + v) ** 2 + (u_minus - v_minus) ** 2, (u - v) ** 2 + (u_minus + v_minus) ** 2

    def _log_predictor_scale(self) -> Float:
        """log(√k/4), the m of `Hypentropy`."""
        P, N = self._light_cone()
        with np.errstate(divide="ignore"):
            return (np.log(P) + np.log(N)) / 2 - math.log(4)

    @property
    def parametrization(self) -> Products:
        """u₊v₊ − u₋v₋."""
        return Products()

    def potential(self, d: int | None = None) -> Hypentropy | Bregman:
        """Q_k of Theorem 1, or its Bregman divergence from w̃(0) if the initialization is biased."""
        self._check_features(d)
        P, N = self._light_cone()
        if zero := np.flatnonzero((P == 0) | (N == 0)).tolist():
            i = zero[0]
            side = "positive" if P[i] == 0 else "negative"
            raise NoPotentialError(
                f"k = 0 at coordinate {i}: from these initial weights it can never become {side}, so no "
                "potential on the whole real line describes it; change u or v slightly at this coordinate"
            )
        features = len(P) if d is None else d  # a single weight stands for d equal ones
        log_scale, start = (
            np.broadcast_to(each, (features,)) for each in (self._log_predictor_scale(), self.predictor())
        )
        hypentropy = Hypentropy(log_scale, 0.5)
        return Bregman(hypentropy, start) if start.any() else hypentropy

    def mirror_form(self, d: int) -> MirrorForm:
        """d(∇Q)/dt = Xᵀ(−∂L/∂f) with ∇Q = ½·rapidity (Appendix A)."""
        self.potential(d)  # raises NoPotentialError if k = 0
        P, N = (np.broadcast_to(each, (d,)) for each in self._light_cone())
        log_scale = np.broadcast_to(self._log_predictor_scale(), (d,))
        start = (np.log(P) - np.log(N)) / 2

        def lift(u: Float) -> Weights:
            return self._lift((u - start) / 2)

        return MirrorForm(math.inf, log_scale, np.full(d, 0.5), start, 0.0, lift)

    def weight_pair(self, d: int) -> WeightPair:
        """√P/2 and √N/2 of the light cone, whose parts are all multiplied by the same factor in a step."""
        self._check_features(d)
        plus, minus = (np.broadcast_to(np.sqrt(each) / 2, (d,)) for each in self._light_cone())

        def lift(grown: Float, shrunk: Float) -> Weights:
            factors = (
                np.divide(now, start, out=np.ones(d), where=start > 0)
                for now, start in ((grown, plus), (shrunk, minus))
            )
            return self._scaled(*factors)

        def model(grown: Float, shrunk: Float) -> Model:
            return UntiedDiagonal.from_weights(*lift(grown, shrunk).values())

        return WeightPair(plus, minus, 2, 1, lift, model)

    @quiet
    def _lift(self, tau: Float) -> Weights:
        """The weights after u₊+v₊ and u₋−v₋ were multiplied by e^τ, and u₊−v₊ and u₋+v₋ by e^{−τ}."""
        return self._scaled(np.exp(tau), np.exp(-tau))

    def _scaled(self, grow: Float, shrink: Float) -> Weights:
        """The weights with u₊+v₊ and u₋−v₋ multiplied by `grow`, and u₊−v₊ and u₋+v₋ by `shrink`."""
        u, v, u_minus, v_minus = self._layers
        plus, minus = (u + v) * grow / 2, (u - v) * shrink / 2
        other_plus, other_minus = (u_minus + v_minus) * shrink / 2, (u_minus - v_minus) * grow / 2
        return {
            "u₊": plus + minus,
            "v₊": plus - minus,
            "u₋": other_plus + other_minus,
            "v₋": other_plus - other_minus,
        }


def _power_of_ten(log10: float) -> str:
    if abs(log10) < _LARGEST_POWER:
        return f"{10**log10:.3g}"
    return f"10^{log10:.1f}"
