"""Integrals along flows by Gauss's rule on panels; flows are recorded exactly at its nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)


@dataclass(frozen=True, eq=False)
class Panels:
    """Panels between increasing ends with four Gauss nodes each: exact for polynomials of degree 7."""

    ends: Float

    @property
    def instants(self) -> Float:
        """Nodes and ends in increasing order: the first end, then four nodes and an end for each panel."""
        low, width = self.ends[:-1, None], np.diff(self.ends)[:, None]
        inside = low + width * (1 + _NODES) / 2
        return np.append(self.ends[0], np.hstack([inside, self.ends[1:, None]]).ravel())

    def split(self, which: NDArray[np.bool_], parts: int) -> Panels:
        """Cut some panels into equal parts; the nodes of the others stay bitwise the same."""
        low, width = self.ends[:-1][which], np.diff(self.ends)[which]
        cuts = low[:, None] + width[:, None] * (np.arange(1, parts) / parts)
        return Panels(np.union1d(self.ends, cuts))

    def refined(
        self, values: Float, which: NDArray[np.bool_], parts: int, ask: Callable[[Float], Float]
    ) -> tuple[Panels, Float]:
        """Cut some panels, and return the values at all instants; `ask` computes only the new values."""
        finer = self.split(which, parts)
        known = np.isin(finer.instants, self.instants)
        filled = np.empty((len(known), *values.shape[1:]))
        filled[known] = values[np.isin(self.instants, finer.instants)]
        filled[~known] = ask(finer.instants[~known])
        return finer, filled

    def at_ends(self, values: Float) -> Float:
        """The values at the ends, from the values at all instants."""
        return np.asarray(values[::5])

    def integral(self, values: Float) -> Float:
        """The integral from the first end to each end, from the values at all instants."""
        pieces = self.pieces(values)
        return np.concatenate([np.zeros_like(pieces[:1]), np.cumsum(pieces, axis=0)])

    def pieces(self, values: Float) -> Float:
        """The integral over each panel, from the values at all instants."""
        shape = (len(self.ends) - 1, 5, *values.shape[1:])
        inside = values[1:].reshape(shape)[:, :4]
        width = np.diff(self.ends)
        return np.asarray(np.einsum("p,k,pk...->p...", width / 2, _WEIGHTS, inside))
