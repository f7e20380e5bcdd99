"""Maps between predictors, rapidities and gradients, shared by all diagonal networks."""

from __future__ import annotations

from typing import Any, TypeVar

from tacit.potentials import rapidity
from tacit.potentials.arrays import as_array

Array = TypeVar("Array")


class Geometry:
    r"""Predictor w and gradient ∂Q of a diagonal network, parametrized by the rapidity u of each coordinate.

        w = m·2cosh^p(u/p)·sinh(u),    ∂Q(w) = weight·tanh(u/p);    w = 2m·sinh(u), ∂Q(w) = weight·u for p = ∞

    power is p, log_scale is log m, and weight the weight of Q, each a number or one number per coordinate.
    The module `rapidity` has the formulas for m = 1; potentials, solvers and flows use this class.
    """

    power: float
    log_scale: Any
    weight: Any

    def rapidity(self, w: Array) -> Array:
        """Rapidities u of the predictor w.

        Parameters
        ----------
        w : (d,) array
            A predictor.

        Returns
        -------
        (d,) array
            The rapidities.
        """
        xp, at = as_array(w)
        found: Array = xp.sign(at) * self._abs_rapidity(xp, at)
        return found

    def _abs_rapidity(self, xp: Any, w: Any) -> Any:
        """|u| of the predictor w."""
        return rapidity.rapidity_of_log(xp, rapidity.log_abs(xp, w) - xp.asarray(self.log_scale), self.power)

    def predictor(self, u: Array) -> Array:
        """Predictor w at rapidities u.

        Parameters
        ----------
        u : (d,) array
            Rapidities.

        Returns
        -------
        (d,) array
            The predictor.
        """
        xp, at = as_array(u)
        size = rapidity.log_predictor(xp, xp.abs(at), self.power) + xp.asarray(self.log_scale)
        found: Array = xp.sign(at) * xp.exp(size)
        return found

    def slope(self, u: Array) -> Array:
        """Gradient ∂Q at rapidities u.

        Parameters
        ----------
        u : (d,) array
            Rapidities.

        Returns
        -------
        (d,) array
            The gradient of Q.
        """
        xp, at = as_array(u)
        found: Array = xp.asarray(self.weight) * rapidity.slope(xp, at, self.power)
        return found

    def log_stiffness(self, u: Array) -> Array:
        """log dw/ds at rapidities u, where s = ∂Q/weight.

        Parameters
        ----------
        u : (d,) array
            Rapidities.

        Returns
        -------
        (d,) array
            The logarithms.
        """
        xp, at = as_array(u)
        found: Array = rapidity.log_stiffness(xp, at, self.power) + xp.asarray(self.log_scale)
        return found

    def inverse_hessian(self, u: Array) -> Array:
        """Diagonal of (∇²Q)⁻¹, dw/d∂Q, at rapidities u.

        Parameters
        ----------
        u : (d,) array
            Rapidities.

        Returns
        -------
        (d,) array
            The diagonal.
        """
        xp, at = as_array(u)
        found: Array = xp.exp(self.log_stiffness(at)) / xp.asarray(self.weight)
        return found
