"""The geometry of diagonal networks: what lies between predictors, rapidities and slopes, for all of them."""

from __future__ import annotations

from typing import Any, TypeVar

from tacit.potentials import rapidity
from tacit.potentials.arrays import as_array

Array = TypeVar("Array")


class Geometry:
    r"""Every coordinate of a diagonal network has a predictor w and a slope ∂Q, tied by its rapidity u.

        w = m·2cosh^p(u/p)·sinh(u),    ∂Q(w) = weight·tanh(u/p);    w = 2m·sinh(u), ∂Q(w) = weight·u for p = ∞

    power: p. log_scale: log m. weight: of Q, each a number or one for each coordinate. `rapidity` has the
    formulas for m = 1; potentials, solvers and flows have theirs from here.
    """

    power: float
    log_scale: Any
    weight: Any

    def rapidity(self, w: Array) -> Array:
        """u of the predictor w.

        Parameters
        ----------
        w : (d,) array
            A predictor.

        Returns
        -------
        (d,) array
            Its rapidities.
        """
        xp, at = as_array(w)
        found: Array = xp.sign(at) * self._size(xp, at)
        return found

    def _size(self, xp: Any, w: Any) -> Any:
        """|u| of the predictor w."""
        return rapidity.rapidity_of_log(xp, rapidity.log_abs(xp, w) - xp.asarray(self.log_scale), self.power)

    def predictor(self, u: Array) -> Array:
        """w at rapidities u.

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
        """∂Q at rapidities u.

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
        """log dw/ds at rapidities u, for the slope s = ∂Q/weight.

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
        """dw/d∂Q at rapidities u.

        Parameters
        ----------
        u : (d,) array
            Rapidities.

        Returns
        -------
        (d,) array
            The diagonal of (∇²Q)⁻¹.
        """
        xp, at = as_array(u)
        found: Array = xp.exp(self.log_stiffness(at)) / xp.asarray(self.weight)
        return found
