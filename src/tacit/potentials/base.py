"""The contract of a potential: what every solver, certificate and regime asks of it, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.potentials.arrays import as_array

Array = Any


class Potential:
    r"""A convex function Q of predictors w, to be written by whoever has one of their own.

    Four methods must be given, on NumPy arrays at least:

        value(w)      Q(w), a number
        gradient(w)   ∇Q(w), one number for each coordinate
        mirror(z)     (∇Q)⁻¹(z); NaN where no w has the slope z
        hessian(w)    ∇²Q(w): its diagonal as a vector where Q is a sum over coordinates, else the matrix

    Everything else has a default. family: which of the solvers of `tacit.limits` takes it; "smooth" is the
    one that needs nothing but these four methods.
    """

    family: str = "smooth"
    input_ndim: int = 2  # axes of X: samples and features, or samples and the two of a matrix
    aim_is_box: bool = True  # is ∂Q(w) one, at every w?
    rounding: float = 2.0**-52  # relative error of its methods, below which solvers do not look

    def value(self, w: Array) -> Array:
        """Q(w)."""
        raise TypeError(f"{type(self).__name__} must implement value(w)")

    def gradient(self, w: Array) -> Array:
        """∇Q(w)."""
        raise TypeError(f"{type(self).__name__} must implement gradient(w)")

    def mirror(self, z: Array) -> Array:
        """(∇Q)⁻¹(z)."""
        raise TypeError(f"{type(self).__name__} must implement mirror(z)")

    def hessian(self, w: Array) -> Array:
        """∇²Q(w)."""
        raise TypeError(f"{type(self).__name__} must implement hessian(w)")

    @property
    def base(self) -> Potential:
        """The potential whose divergence this one is; otherwise itself."""
        return self

    def describe(self) -> str:
        """What it is, in a line."""
        return type(self).__name__

    def start(self, features: int) -> Array:
        """Where the gradient vanishes, the predictor from which a flow starts that minimizes it."""
        return np.zeros(features)

    def subdifferential(self, w: Array) -> tuple[Array, Array]:
        """Lower and upper end of ∂Q(w): the gradient twice, where Q is smooth."""
        gradient = self.gradient(w)
        return gradient, gradient

    def aim(self, w: Array) -> tuple[Array, Array]:
        """The box of slopes at which multipliers aim: ∂Q(w), or where that is a ball, its centre."""
        return self.subdifferential(w) if self.aim_is_box else (self.gradient(w),) * 2

    def nearest_slope(self, w: Array, slope: Array) -> Array:
        """The point of ∂Q(w) nearest to a slope."""
        return np.clip(slope, *self.subdifferential(w))

    def terms(self, w: Array) -> float:
        """The size of slopes that the gradient is the difference of; 0 where it is none."""
        return 0.0

    def slope_from(self, w: Array, origin: Array) -> Array:
        """∇Q(w) − ∇Q(origin)."""
        return self.gradient(w) - self.gradient(origin)

    def divergence(self, w: Array, origin: Array) -> Array:
        """D_Q(w, origin) = Q(w) − Q(origin) − ∇Q(origin)·(w − origin)."""
        xp, w = as_array(w)
        origin = xp.asarray(origin)
        return self.value(w) - self.value(origin) - xp.sum(self.gradient(origin) * (w - origin))

    def rescaled(self, shift: float, d: int | None = None) -> Potential | None:
        """The same at a predictor scale e^shift times as large, for d features; None without a scale."""
        return None

    def check_features(self, features: int) -> None:
        """Refuse data with another number of features than the parameters are for."""
        for name, value in vars(self).items():
            shape = np.shape(value) if isinstance(value, np.ndarray) else ()
            if shape and shape[0] != features:
                raise InputError(f"{name} has {shape[0]} entries but the data has {features} features")
