"""An orthonormal basis that grows by what is clearly new, and says where that is in doubt."""

from __future__ import annotations

import numpy as np

from tacit.data.arrays import Float

ZERO, CLEAR = 1e-9, 1e-6  # relative sizes below which a number is 0, and above which it is not


class Span:
    """Orthonormal rows; doubt: the largest remainder of the last rows that was neither 0 nor clear."""

    def __init__(self, p: int):
        self.basis: Float = np.zeros((0, p))
        self.doubt = 0.0

    @property
    def dimension(self) -> int:
        """How many rows."""
        return len(self.basis)

    def add(self, rows: Float) -> list[int]:
        """Which rows are clearly new, largest remainder first."""
        picked: list[int] = []
        left = np.array(rows)
        while True:
            for _ in range(2):  # twice is enough for orthogonality to rounding
                left = left - (left @ self.basis.T) @ self.basis
            sizes = np.linalg.norm(left, axis=1)
            at = int(np.argmax(sizes))
            if self.dimension == rows.shape[1] or not sizes[at] >= CLEAR:
                self.doubt = float(sizes[at]) if sizes[at] > ZERO and self.dimension < rows.shape[1] else 0.0
                return picked
            picked.append(at)
            self.basis = np.vstack([self.basis, left[at] / sizes[at]])
