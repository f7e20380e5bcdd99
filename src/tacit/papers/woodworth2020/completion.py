"""A partly observed matrix of rank 1: what Figure 5 and the figure of Theorem 9 complete."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.data.arrays import Float


@dataclass(frozen=True, eq=False)
class Completion:
    """truth: Y* = u*v*ᵀ, (d, d). seen: which entries are observed."""

    truth: Float
    seen: np.ndarray

    @cached_property
    def X(self) -> Float:
        """The measurements e_i e_jᵀ, (N, d, d)."""
        places = np.flatnonzero(self.seen)
        X = np.zeros((len(places), self.seen.size))
        X[np.arange(len(places)), places] = 1.0
        return X.reshape(-1, *self.seen.shape)

    @property
    def y(self) -> Float:
        """The entries observed."""
        return self.truth[self.seen]

    @property
    def norm(self) -> float:
        """‖Y*‖_*, its one singular value."""
        return float(np.linalg.norm(self.truth))

    def excess(self, matrix: Float) -> float:
        """‖M‖_* − ‖Y*‖_*."""
        return float(np.linalg.norm(matrix, "nuc")) - self.norm

    def unseen(self, change: Float) -> float:
        """The root mean square of the entries that are not observed."""
        return float(np.sqrt(np.mean(change[~self.seen] ** 2)))


def completion(size: int, observed: int, seed: int) -> Completion:
    """Y* with u*, v* from N(0, I), and N entries of it at random, each row and column with one at least."""
    rng = np.random.default_rng(seed)
    truth = np.outer(*rng.standard_normal((2, size)))
    while True:
        seen = (rng.permutation(size**2) < observed).reshape(size, size)
        if seen.any(axis=0).all() and seen.any(axis=1).all():
            return Completion(truth, seen)
