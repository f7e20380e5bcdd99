"""An orthonormal basis that grows by rows that are clearly independent of it."""

from __future__ import annotations

import numpy as np

from tacit.data.arrays import Float

# Relative sizes up to ZERO count as 0, and sizes from CLEAR on as nonzero; a size in between makes the
# verdict "undecided". Round-off of brackets and metric tensors is about 1e-15 for well-conditioned maps.
ZERO, CLEAR = 1e-9, 1e-6


class Span:
    """A basis with orthonormal rows.

    borderline: the largest remainder of the rows added last that lies between ZERO and CLEAR, or 0.
    """

    def __init__(self, p: int):
        self.basis: Float = np.zeros((0, p))
        self.borderline = 0.0

    @property
    def dimension(self) -> int:
        """The number of rows."""
        return len(self.basis)

    def add(self, rows: Float) -> bool:
        """Extend the basis by the rows with clear remainders, largest first; True if there were any."""
        before, rest = self.dimension, np.array(rows)
        while True:
            for _ in range(2):  # Gram–Schmidt twice is orthogonal to round-off
                rest = rest - (rest @ self.basis.T) @ self.basis
            sizes = np.linalg.norm(rest, axis=1)
            largest = int(np.argmax(sizes))
            full = self.dimension == rows.shape[1]
            if full or not sizes[largest] >= CLEAR:
                self.borderline = 0.0 if full or sizes[largest] <= ZERO else float(sizes[largest])
                return self.dimension > before
            self.basis = np.vstack([self.basis, rest[largest] / sizes[largest]])
