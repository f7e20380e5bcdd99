"""The contract of a potential: what every solver, certificate and regime asks of it, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.potentials.arrays import as_array

Array = Any


class Potential:
    """A convex function Q of predictors w, to be written by whoever has one of their own.

    Four methods must be given, on NumPy arrays at least:

        value(w)      Q(w), a number
        gradient(w)   ∇Q(w), one number for each coordinate
        mirror(z)     (∇Q)⁻¹(z); NaN where no w has the slope z
        hessian(w)    ∇²Q(w): its diagonal as a vector where Q is a sum over coordinates, else the matrix

    Everything else has a default. `family` says which of the solvers of `tacit.solvers` takes it; "smooth" is
    the one that needs nothing but these four methods.
    """

    family: str = "smooth"
    input_ndim: int = 2  # axes of X: samples and features, or samples and the two of a matrix
    aim_is_box: bool = True  # is ∂Q(w) one, at every w?
    rounding: float = 2.0**-52  # relative error of its methods, below which solvers do not look

    def value(self, w: Array) -> Array:
        """Q(w).

        Parameters
        ----------
        w : (d,) array
            A predictor; (d₁, d₂) of potentials of matrices.

        Returns
        -------
        float
            Q(w).
        """
        raise TypeError(f"{type(self).__name__} must implement value(w)")

    def gradient(self, w: Array) -> Array:
        """∇Q(w).

        Parameters
        ----------
        w : (d,) array
            A predictor; (d₁, d₂) of potentials of matrices.

        Returns
        -------
        array
            ∇Q(w), of the shape of w; at a kink the subgradient of least norm.
        """
        raise TypeError(f"{type(self).__name__} must implement gradient(w)")

    def mirror(self, z: Array) -> Array:
        """(∇Q)⁻¹(z).

        Parameters
        ----------
        z : (d,) array
            A slope; (d₁, d₂) of potentials of matrices.

        Returns
        -------
        array
            The predictor with that slope; NaN where none has it.
        """
        raise TypeError(f"{type(self).__name__} must implement mirror(z)")

    def hessian(self, w: Array) -> Array:
        """∇²Q(w).

        Parameters
        ----------
        w : (d,) array
            A predictor; (d₁, d₂) of potentials of matrices.

        Returns
        -------
        (d,) or (d, d) array
            The diagonal where Q is a sum over coordinates, else the matrix.
        """
        raise TypeError(f"{type(self).__name__} must implement hessian(w)")

    @property
    def base(self) -> Potential:
        """The potential whose divergence this one is; otherwise itself."""
        return self

    def describe(self) -> str:
        """What it is, in a line."""
        return type(self).__name__

    def start(self, features: int) -> Array:
        """Where the gradient vanishes: the predictor from which a flow starts that minimizes Q.

        Parameters
        ----------
        features : int
            d.

        Returns
        -------
        (d,) array
            The start.
        """
        return np.zeros(features)

    def subdifferential(self, w: Array) -> tuple[Array, Array]:
        """Lower and upper end of ∂Q(w): the gradient twice, where Q is smooth.

        Parameters
        ----------
        w : (d,) array
            A predictor.

        Returns
        -------
        tuple of arrays
            Both ends.
        """
        gradient = self.gradient(w)
        return gradient, gradient

    def aim(self, w: Array) -> tuple[Array, Array]:
        """The box of slopes at which multipliers aim: ∂Q(w), or where that is a ball, its centre.

        Parameters
        ----------
        w : (d,) array
            A predictor.

        Returns
        -------
        tuple of arrays
            Lower and upper end.
        """
        return self.subdifferential(w) if self.aim_is_box else (self.gradient(w),) * 2

    def nearest_slope(self, w: Array, slope: Array) -> Array:
        """The point of ∂Q(w) nearest to a slope.

        Parameters
        ----------
        w : (d,) array
            A predictor.
        slope : (d,) array
            Such as Xᵀν.

        Returns
        -------
        (d,) array
            The point.
        """
        return np.clip(slope, *self.subdifferential(w))

    def terms(self, w: Array) -> float:
        """The size of slopes that the gradient is the difference of.

        Parameters
        ----------
        w : (d,) array
            A predictor.

        Returns
        -------
        float
            0 where it is no difference.
        """
        return 0.0

    def slope_from(self, w: Array, origin: Array) -> Array:
        """∇Q(w) − ∇Q(origin).

        Parameters
        ----------
        w : (d,) array
            A predictor.
        origin : (d,) array
            Another one.

        Returns
        -------
        (d,) array
            The difference.
        """
        return self.gradient(w) - self.gradient(origin)

    def divergence(self, w: Array, origin: Array) -> Array:
        """D_Q(w, origin) = Q(w) − Q(origin) − ∇Q(origin)·(w − origin).

        Parameters
        ----------
        w : (d,) array
            A predictor.
        origin : (d,) array
            Where it is 0.

        Returns
        -------
        float
            The Bregman divergence.
        """
        xp, w = as_array(w)
        origin = xp.asarray(origin)
        return self.value(w) - self.value(origin) - xp.sum(self.gradient(origin) * (w - origin))

    def shifted(self, shift: float, d: int | None = None) -> Potential | None:
        """The same at another predictor scale.

        Parameters
        ----------
        shift : float
            The scale is e^shift times as large.
        d : int, optional
            The number of features.

        Returns
        -------
        Potential or None
            None where it has no scale.
        """
        return None

    def check_features(self, features: int) -> None:
        """Refuse data with another number of features than the parameters are for.

        Parameters
        ----------
        features : int
            d of the data.

        Raises
        ------
        InputError
            Where they differ.
        """
        for name, value in vars(self).items():
            shape = np.shape(value) if isinstance(value, np.ndarray) else ()
            if shape and shape[0] != features:
                raise InputError(f"{name} has {shape[0]} entries but the data has {features} features")
