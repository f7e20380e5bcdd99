"""Integrals along flows: Gauss nodes in panels, at which a flow is recorded exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)


@dataclass(frozen=True, eq=False)
class Panels:
    """Panels between increasing ends, four nodes in each: exact for polynomials of degree 7."""

    ends: Float

    @property
    def instants(self) -> Float:
        """Nodes and ends, increasing: the first end, then four nodes and an end for each panel."""
        low, width = self.ends[:-1, None], np.diff(self.ends)[:, None]
        inside = low + width * (1 + _NODES) / 2
        return np.append(self.ends[0], np.hstack([inside, low + width]).ravel())

    def at_ends(self, values: Float) -> Float:
        """Of values at all instants, those at the ends."""
        return np.asarray(values[::5])

    def integral(self, values: Float) -> Float:
        """From the first end to each end, of what has these values at all instants."""
        shape = (len(self.ends) - 1, 5, *values.shape[1:])
        inside = values[1:].reshape(shape)[:, :4]
        width = np.diff(self.ends)
        pieces = np.einsum("p,k,pk...->p...", width / 2, _WEIGHTS, inside)
        return np.concatenate([np.zeros_like(pieces[:1]), np.cumsum(pieces, axis=0)])
