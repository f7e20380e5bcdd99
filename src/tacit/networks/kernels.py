r"""The tangent kernel K(x, x') = ∂f(x)/∂θ · ∂f(x')/∂θᵀ of a network, by Jacobian products in blocks.

Rows of the Jacobian, (N·m) × P, come from one backward pass for each output of each sample, or from its
columns where there are fewer weights than outputs of a sample; dense layers of PyTorch need none (`dense`).
As many are held as fit into the memory
allowed; where they do not all fit, each pair of blocks is multiplied for itself and rows are made anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.networks.backend import Array, Backend

MEMORY = 1 << 30  # bytes of rows of the Jacobian that are held, unless another limit is given
_MOST = 1 << 32  # bytes of a kernel
_PASS = 6  # multiplications for each weight of a backward pass over a sample, roughly


@dataclass(frozen=True)
class KernelCost:
    """What a tangent kernel takes, before it is computed.

    rows, columns: of the kernel, N·m and N'·m. weights: P, of layers that need rows of the Jacobian.
    kernel_bytes: of the kernel, which must fit; jacobian_bytes: of all these rows at once, of which no more
    than `memory` are held. block: rows that are held at a time; passes: how many rows are made, each by a
    backward pass over one sample; operations: multiplications in all, roughly.
    """

    rows: int
    columns: int
    weights: int
    kernel_bytes: int
    jacobian_bytes: int
    memory: int
    block: int
    passes: int
    operations: float

    @property
    def fits(self) -> bool:
        """Can it be computed at all?"""
        return self.kernel_bytes <= _MOST

    def summary(self) -> str:
        """In a line."""
        if not self.weights:
            size = f"kernel {self.rows:,} × {self.columns:,} ({_size(self.kernel_bytes)})"
            return f"{size}, no Jacobian: {self.operations:.1e} multiplications"
        held = "all at once" if self.jacobian_bytes <= self.memory else f"{self.block:,} rows at a time"
        return (
            f"kernel {self.rows:,} × {self.columns:,} ({_size(self.kernel_bytes)}), Jacobian of "
            f"{self.weights:,} weights ({_size(self.jacobian_bytes)}) {held}: {self.passes:,} backward "
            f"passes of a sample, {self.operations:.1e} multiplications"
        )


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} GB"


def cost_of(
    backend: Backend, weights: Array, X: Array, others: int | None, outputs: int, memory: int
) -> KernelCost:
    """The cost for the samples X, and a number of others or none."""
    contracted = backend.contracted(weights, X)
    units = sum(sum(layer.shape) for layer in contracted)
    each, P = weights.itemsize, weights.size - sum(layer.size for layer in contracted)
    samples = len(X), others
    rows = samples[0] * outputs
    columns = rows if samples[1] is None else samples[1] * outputs
    distinct = rows if samples[1] is None else rows + columns
    whole = distinct * P * each <= memory
    block = distinct if whole else _whole_samples(max(int(memory // (2 * P * each)), 1), outputs)
    passes = distinct
    if not whole and samples[1] is None:
        passes = sum(rows - a for a, _ in _blocks(rows, outputs, block))
    elif not whole:
        passes = rows + columns * sum(1 for _ in _blocks(rows, outputs, block))
    products = rows * columns * (0.5 if samples[1] is None else 1.0)
    operations = float(passes) * _PASS * P + products * (P + units)
    operations += _PASS * distinct * float(weights.size - P)
    return KernelCost(
        rows, columns, P, rows * columns * each, distinct * P * each, int(memory), block, passes, operations
    )


@dataclass(frozen=True)
class _Rows:
    """The rows of the Jacobian of some inputs, in blocks."""

    backend: Backend
    weights: Array
    X: Array
    outputs: int

    @property
    def count(self) -> int:
        return len(self.X) * self.outputs

    def block(self, begin: int, end: int) -> Any:
        """Rows begin to end: whole samples, or some of the outputs of one."""
        m = self.outputs
        basis = np.eye(m, dtype=self.weights.dtype)
        first, last = begin // m, -(-end // m)
        if last - first == 1:
            basis = basis[begin - first * m : end - first * m]
        return self.backend.rows(self.weights, self.X[first:last], basis)


def _whole_samples(most: int, outputs: int) -> int:
    """At most so many rows: those of whole samples, or some of one."""
    return most if most < outputs else most // outputs * outputs


def _blocks(count: int, outputs: int, size: int, begin: int = 0) -> Iterator[tuple[int, int]]:
    """Blocks of so many rows, none of which has parts of two samples where it has parts."""
    while begin < count:
        end = min(begin + size, count)
        if size < outputs:
            end = min(end, (begin // outputs + 1) * outputs)
        yield begin, end
        begin = end


def tangent_kernel(
    backend: Backend, weights: Array, X: Array, Y: Array | None, outputs: int, memory: int
) -> Array:
    """K(X, Y), (N·m, N'·m); K(X, X) where there is no Y. `InputError` with its cost where it does not fit."""
    cost = cost_of(backend, weights, X, None if Y is None else len(Y), outputs, memory)
    if not cost.fits:
        raise InputError(
            f"the tangent kernel does not fit: {cost.summary()}, and at most {_size(_MOST)} are allowed for "
            "the kernel; give fewer samples"
        )
    if cost.weights == weights.size:
        K = _by_rows(backend, weights, X, Y, cost)
    else:
        K = backend.contract(weights, X, Y, outputs)
        K = K + _by_rows(backend, weights, X, Y, cost) if cost.weights else K
    return K if Y is not None else (K + K.T) / 2  # products need not be symmetric to the last bit


def _by_rows(backend: Backend, weights: Array, X: Array, Y: Array | None, cost: KernelCost) -> Array:
    outputs = cost.rows // len(X)
    here = _Rows(backend, weights, X, outputs)
    there = here if Y is None else _Rows(backend, weights, Y, outputs)
    if cost.jacobian_bytes <= cost.memory:
        return _at_once(here, there, cost)
    return _by_blocks(here, there, cost)


def _at_once(here: _Rows, there: _Rows, cost: KernelCost) -> Array:
    backend, weights = here.backend, here.weights
    few = weights.size == cost.weights < here.outputs

    def all_rows(rows: _Rows) -> Any:
        return backend.columns(weights, rows.X) if few else rows.block(0, rows.count)

    first = all_rows(here)
    return backend.inner(first, first if there is here else all_rows(there))


def _by_blocks(here: _Rows, there: _Rows, cost: KernelCost) -> Array:
    K = np.empty((here.count, there.count), dtype=here.weights.dtype)
    for a, b in _blocks(here.count, here.outputs, cost.block):
        first = here.block(a, b)
        for c, d in _blocks(there.count, there.outputs, cost.block, a if there is here else 0):
            second = first if there is here and (a, b) == (c, d) else there.block(c, d)
            K[a:b, c:d] = here.backend.inner(first, second)
            if there is here:
                K[c:d, a:b] = K[a:b, c:d].T
    return K
