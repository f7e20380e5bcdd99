"""The interface of a potential: everything that solvers, certificates and regimes use."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.errors import InputError
from tacit.potentials.arrays import as_array, quiet

Array = Any


class Potential:
    """Base class of potentials, convex functions Q of a predictor w; subclass it to add your own.

    A subclass must implement four methods, for NumPy arrays at least:

        value(w)      Q(w), a number
        gradient(w)   ∇Q(w), one number per coordinate
        mirror(z)     (∇Q)⁻¹(z); NaN if no w has the gradient z
        hessian(w)    ∇²Q(w): the diagonal as a vector if Q is a sum over coordinates, otherwise the matrix

    Everything else has a default. `family` selects the solver in `tacit.solvers`; "smooth" needs only these
    four methods.

    Examples
    --------
    >>> import numpy as np
    >>> import tacit
    >>> class HalfSquare(tacit.potentials.Potential):
    ...     value = lambda self, w: (w**2).sum() / 2
    ...     gradient = lambda self, w: w
    ...     mirror = lambda self, z: z
    ...     hessian = lambda self, w: np.ones_like(w)
    >>> found = tacit.limit(HalfSquare(), [[3.0, 4.0]], [25.0])  # the minimum-norm solution
    >>> [round(float(w), 6) for w in found.predictor]
    [3.0, 4.0]
    """

    family: str = "smooth"
    input_ndim: int = 2  # axes of X: samples and features (2), or samples, rows and columns (3)
    aim_is_box: bool = True  # whether ∂Q(w) is a product of intervals at every w
    rounding: float = 2.0**-52  # relative error of the methods; solvers do not iterate below it

    def __call__(self) -> Any:
        """Raise, since a potential has no weights: limit.model() is for models."""
        raise InputError("a potential has no weights at the end of training: call limit with a model instead")

    def value(self, w: Array) -> Array:
        """Q(w).

        Parameters
        ----------
        w : (d,) array
            A predictor; (d₁, d₂) for potentials of matrices.

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
            A predictor; (d₁, d₂) for potentials of matrices.

        Returns
        -------
        array
            ∇Q(w), with the shape of w; at a kink the subgradient of minimum norm.
        """
        raise TypeError(f"{type(self).__name__} must implement gradient(w)")

    def mirror(self, z: Array) -> Array:
        """(∇Q)⁻¹(z).

        Parameters
        ----------
        z : (d,) array
            A gradient; (d₁, d₂) for potentials of matrices.

        Returns
        -------
        array
            The predictor with that gradient; NaN if there is none.
        """
        raise TypeError(f"{type(self).__name__} must implement mirror(z)")

    def hessian(self, w: Array) -> Array:
        """∇²Q(w).

        Parameters
        ----------
        w : (d,) array
            A predictor; (d₁, d₂) for potentials of matrices.

        Returns
        -------
        (d,) or (d, d) array
            The diagonal if Q is a sum over coordinates, otherwise the matrix.
        """
        raise TypeError(f"{type(self).__name__} must implement hessian(w)")

    @property
    def base(self) -> Potential:
        """The potential Q of a Bregman divergence D_Q; for any other potential, the potential itself."""
        return self

    def describe(self) -> str:
        """One-line description."""
        return type(self).__name__

    def start(self, features: int) -> Array:
        """The minimizer of Q, where ∇Q = 0: the initial predictor of a flow that minimizes Q.

        Parameters
        ----------
        features : int
            Number of features d.

        Returns
        -------
        (d,) array
            The initial predictor.
        """
        return np.zeros(features)

    def subdifferential(self, w: Array) -> tuple[Array, Array]:
        """Lower and upper bound of ∂Q(w), coordinate by coordinate; both are ∇Q(w) if Q is smooth.

        Parameters
        ----------
        w : (d,) array
            A predictor.

        Returns
        -------
        tuple of arrays
            Lower and upper bound.
        """
        gradient = self.gradient(w)
        return gradient, gradient

    def aim(self, w: Array) -> tuple[Array, Array]:
        """Bounds on Xᵀν to which multipliers are fitted: those of ∂Q(w), or its centre if ∂Q(w) is a ball.

        Parameters
        ----------
        w : (d,) array
            A predictor.

        Returns
        -------
        tuple of arrays
            Lower and upper bound.
        """
        return self.subdifferential(w) if self.aim_is_box else (self.gradient(w),) * 2

    def nearest_slope(self, w: Array, slope: Array) -> Array:
        """The point of ∂Q(w) nearest to `slope`.

        Parameters
        ----------
        w : (d,) array
            A predictor.
        slope : (d,) array
            A gradient, for example Xᵀν.

        Returns
        -------
        (d,) array
            The nearest subgradient.
        """
        return np.clip(slope, *self.subdifferential(w))

    def terms(self, w: Array) -> float:
        """Size of the terms whose difference is ∇Q(w); round-off in ∇Q(w) is relative to it.

        Parameters
        ----------
        w : (d,) array
            A predictor.

        Returns
        -------
        float
            The size; 0 if the gradient is not computed as a difference.
        """
        return 0.0

    @quiet
    def slope_from(self, w: Array, origin: Array) -> Array:
        """∇Q(w) − ∇Q(origin).

        Parameters
        ----------
        w : (d,) array
            A predictor.
        origin : (d,) array
            The predictor to compare with.

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
            The predictor at which the divergence is 0.

        Returns
        -------
        float
            The Bregman divergence.
        """
        xp, w = as_array(w)
        origin = xp.asarray(origin)
        return self.value(w) - self.value(origin) - xp.sum(self.gradient(origin) * (w - origin))

    def shifted(self, shift: float, d: int | None = None) -> Potential | None:
        """The same potential with its predictor scale multiplied by e^shift.

        Parameters
        ----------
        shift : float
            Logarithm of the factor.
        d : int, optional
            Number of features.

        Returns
        -------
        Potential or None
            None if the potential has no scale.
        """
        return None

    def check_features(self, features: int) -> None:
        """Check that the parameters have one entry per feature.

        Parameters
        ----------
        features : int
            Number of features of the data.

        Raises
        ------
        InputError
            If a parameter is an array of another length.
        """
        for name, value in vars(self).items():
            shape = np.shape(value) if isinstance(value, np.ndarray) else ()
            if shape and shape[0] != features:
                raise InputError(f"{name} has {shape[0]} entries but the data has {features} features")


class DivergenceFromStart(Potential):
    """A potential of w with the minimum w₀, the attribute `origin`."""

    origin: Float

    def start(self, features: int) -> Float:
        """w₀."""
        self.check_features(features)
        return self.origin

    def check_features(self, features: int) -> None:
        """Raise `InputError` if the data has not as many features as w has entries."""
        if len(self.origin) != features:
            raise InputError(f"w has {len(self.origin)} entries but the data has {features} features")

    def _vector(self, values: Any, name: str) -> Float:
        array = np.asarray(values, dtype=float)
        if array.shape != self.origin.shape:
            raise InputError(f"{name} must have {len(self.origin)} entries, got shape {array.shape}")
        return array
