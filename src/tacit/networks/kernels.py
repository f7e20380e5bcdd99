r"""The tangent kernel K(x, x') = ∂f(x)/∂θ · ∂f(x')/∂θᵀ of a network, by Jacobian products in blocks.

A row of the Jacobian, (N·m) × P, takes one backward pass for one output of one sample. Dense layers of
PyTorch need no Jacobian (`dense`). If not all rows fit into the allowed memory, blocks of rows are multiplied
pair by pair, and rows are computed repeatedly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.printable import byte_size
from tacit.errors import InputError
from tacit.networks.backend import Array, Backend, Layer

MEMORY = 1 << 30  # bytes of Jacobian rows kept in memory by default
_LARGEST_KERNEL = 1 << 32  # bytes; larger kernels raise InputError
# approximate number of multiplications for each weight in a forward and backward pass over a sample
_OPERATIONS = 6


@dataclass(frozen=True)
class KernelCost:
    """Estimated cost of a tangent kernel.

    rows, columns: size of the kernel, N·m and N'·m. weights: number P of weights in layers that need Jacobian
    rows. kernel_bytes: size of the kernel, which must fit into memory. jacobian_bytes: size of all Jacobian
    rows, of which at most `memory` bytes are kept at a time. block: number of rows kept at a time. passes:
    number of backward passes over one sample. operations: approximate number of multiplications.
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
        """Whether the kernel is small enough to be computed."""
        return self.kernel_bytes <= _LARGEST_KERNEL

    def summary(self) -> str:
        """The cost in one line."""
        kernel = f"kernel {self.rows:,} × {self.columns:,} ({byte_size(self.kernel_bytes)})"
        if not self.weights:
            return f"{kernel}, no Jacobian: {self.operations:.1e} multiplications"
        rows = "all at once" if self.jacobian_bytes <= self.memory else f"{self.block:,} rows at a time"
        return (
            f"{kernel}, Jacobian of {self.weights:,} weights ({byte_size(self.jacobian_bytes)}) {rows}: "
            f"{self.passes:,} backward passes over a sample, {self.operations:.1e} multiplications"
        )


def cost_of(
    backend: Backend, weights: Array, X: Array, others: int | None, outputs: int, memory: int
) -> KernelCost:
    """The cost of the kernel between the samples X and this number of other samples, or X itself if None."""
    factored = backend.factored_layers(weights, X)
    units = sum(sum(layer.shape) for layer in factored)
    itemsize, P = weights.itemsize, weights.size - sum(layer.size for layer in factored)
    rows = len(X) * outputs
    columns = rows if others is None else others * outputs
    distinct = rows if others is None else rows + columns
    jacobian_bytes = distinct * P * itemsize
    block, passes = distinct, distinct
    if jacobian_bytes > memory:
        block = _whole_samples(max(int(memory // (2 * P * itemsize)), 1), outputs)
        starts = [begin for begin, _ in _blocks(rows, outputs, block)]
        passes = sum(rows - begin for begin in starts) if others is None else rows + columns * len(starts)
    products = rows * columns * (0.5 if others is None else 1.0)
    operations = float(passes) * _OPERATIONS * P + products * (P + units)
    operations += _OPERATIONS * distinct * float(weights.size - P)
    return KernelCost(
        rows, columns, P, rows * columns * itemsize, jacobian_bytes, int(memory), block, passes, operations
    )


@dataclass(frozen=True)
class _Rows:
    """The Jacobian rows of some inputs, computed in blocks."""

    backend: Backend
    weights: Array
    X: Array
    outputs: int

    @property
    def count(self) -> int:
        return len(self.X) * self.outputs

    def block(self, begin: int, end: int) -> Any:
        """The rows from begin to end, which are whole samples or some outputs of one sample."""
        m = self.outputs
        basis = np.eye(m, dtype=self.weights.dtype)
        first, last = begin // m, -(-end // m)
        if last - first == 1:
            basis = basis[begin - first * m : end - first * m]
        return self.backend.rows(self.weights, self.X[first:last], basis)


def _whole_samples(most: int, outputs: int) -> int:
    """The largest number of rows, at most `most`, that are whole samples or outputs of one sample."""
    return most if most < outputs else most // outputs * outputs


def _blocks(count: int, outputs: int, size: int, begin: int = 0) -> Iterator[tuple[int, int]]:
    """Split rows into blocks of this size, none of which contains incomplete parts of two samples."""
    while begin < count:
        end = min(begin + size, count)
        if size < outputs:
            end = min(end, (begin // outputs + 1) * outputs)
        yield begin, end
        begin = end


def tangent_kernel(
    backend: Backend, weights: Array, X: Array, Y: Array | None, outputs: int, memory: int
) -> Array:
    """K(X, Y), (N·m, N'·m), or K(X, X) if Y is None. Raises `InputError` if the kernel is too large."""
    cost = cost_of(backend, weights, X, None if Y is None else len(Y), outputs, memory)
    if not cost.fits:
        raise InputError(
            f"the tangent kernel is too large: {cost.summary()}; the limit for the kernel is "
            f"{byte_size(_LARGEST_KERNEL)}: use fewer samples"
        )
    if cost.weights == weights.size:
        K = _by_rows(backend, weights, X, Y, cost)
    else:
        K = backend.factored_kernel(weights, X, Y, outputs)
        K = K + _by_rows(backend, weights, X, Y, cost) if cost.weights else K
    return K if Y is not None else (K + K.T) / 2  # round-off in the products breaks exact symmetry


def _by_rows(backend: Backend, weights: Array, X: Array, Y: Array | None, cost: KernelCost) -> Array:
    """The product of all Jacobian rows, block by block; a single block if they fit into memory."""
    outputs = cost.rows // len(X)
    X_rows = _Rows(backend, weights, X, outputs)
    Y_rows = X_rows if Y is None else _Rows(backend, weights, Y, outputs)
    K = np.empty((X_rows.count, Y_rows.count), dtype=weights.dtype)
    for a, b in _blocks(X_rows.count, outputs, cost.block):
        first = X_rows.block(a, b)
        for c, d in _blocks(Y_rows.count, outputs, cost.block, 0 if Y is not None else a):
            second = first if Y is None and (a, b) == (c, d) else Y_rows.block(c, d)
            K[a:b, c:d] = backend.inner(first, second)
            if Y is None:
                K[c:d, a:b] = K[a:b, c:d].T
    return K


def direction(K: Array) -> Array:
    """The kernel divided by its Frobenius norm, in double precision; a kernel of zeros stays 0."""
    K = np.asarray(K, dtype=np.float64)
    K = K / (float(np.abs(K).max(initial=0.0)) or 1.0)  # without this, squares of large entries overflow
    return K / (float(np.linalg.norm(K)) or 1.0)


def distance_between(first: Array, second: Array) -> float:
    """The distance 1 − cos φ between two kernels with the angle φ, computed as ½‖K/‖K‖ − K'/‖K'‖‖².

    This formula is accurate for small angles. The distance is 0 if both kernels are 0, and 1 if one of them
    is. Moroshko et al. 2020, Appendix H.4; Woodworth et al. 2020, Appendix B.
    """
    first, second = direction(first), direction(second)
    if not (first.any() and second.any()):
        return float(first.any() != second.any())
    return float(np.sum((first - second) ** 2) / 2)


def angle_of(distance: float) -> float:
    """The angle φ with 1 − cos φ equal to this distance."""
    return float(2 * np.arcsin(np.sqrt(min(distance, 2.0) / 2)))


def movement(
    layers: Sequence[Layer], first: Array, second: Array, dtype: Any = np.float64
) -> dict[str, float]:
    """The relative distance ‖W' − W‖/‖W‖ for each layer, computed in dtype; infinite if only W is 0."""
    found = {}
    for layer in layers:
        W, moved = (layer.of(weights).astype(dtype, copy=False) for weights in (first, second))
        size, change = float(np.linalg.norm(W)), float(np.linalg.norm(moved - W))
        found[layer.name] = change / size if size > 0 else (np.inf if change > 0 else 0.0)
    return found
