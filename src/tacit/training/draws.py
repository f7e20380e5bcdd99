"""The samples and the signs of label noise of each step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.errors import InputError

_BLOCK = 256  # steps drawn at once: the result does not depend on how many steps are run at a time


class Draws:
    """Batches without replacement, and signs of label noise, from one generator.

    given: the samples of each step, instead of random ones; batches may have any size.
    """

    def __init__(self, samples: int, batch: int | None, seed: Any, given: Iterable[Any] | None = None):
        self.samples, self.batch = samples, batch
        self.rng = np.random.default_rng(seed)
        self.given: Iterator[Any] | None = None if given is None else iter(given)
        self._batches: Iterator[Index] = iter(())

    @property
    def all(self) -> bool:
        """Whether every step uses all samples."""
        return self.given is None and self.batch in (None, self.samples)

    def batch_of_step(self) -> Index | None:
        """The samples of the next step; None for all. Raises `StopIteration` after the last given batch."""
        if self.given is not None:
            return self._checked(next(self.given))
        if self.all or self.batch is None:
            return None
        found = next(self._batches, None)
        if found is None:
            self._batches = iter(self._block(self.batch))
            found = next(self._batches)
        return found

    def _block(self, batch: int) -> Index:
        if batch == 1:
            return self.rng.integers(self.samples, size=(_BLOCK, 1))
        keys = self.rng.random((_BLOCK, self.samples))
        return np.argpartition(keys, batch - 1, axis=1)[:, :batch]

    def _checked(self, entry: Any) -> Index:
        batch = np.atleast_1d(np.asarray(entry))
        if batch.ndim != 1 or batch.dtype.kind not in "iu" or not batch.size:
            raise InputError(f"batches must yield indices of samples, got {entry!r}")
        if batch.min() < 0 or batch.max() >= self.samples:
            raise InputError(
                f"batches must yield indices from 0 to {self.samples - 1}, got {int(batch.max())} and "
                f"{int(batch.min())} in one batch"
            )
        return batch.astype(np.intp)

    def signs(self, count: int) -> Float:
        """Independent signs, ±1."""
        return np.asarray(2.0 * self.rng.integers(2, size=count) - 1.0, dtype=np.float64)
