"""How potentials of matrices are minimized, by family: one table for limits and certificates."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Protocol

from tacit.data.arrays import Float
from tacit.errors import NoPotentialError
from tacit.solvers.interpolation.solution import Solution
from tacit.solvers.matrices import nuclear, schatten
from tacit.solvers.matrices.measurements import Measurements


class MatrixFamily(Protocol):
    """What `schatten` and `nuclear` have. METHOD: how `least` works."""

    METHOD: str

    def least(self, potential: Any, problem: Measurements) -> Solution:
        """argmin Q(M) subject to the measurements; the predictor is flat."""
        ...

    def multipliers(self, potential: Any, problem: Measurements, matrix: Float) -> tuple[Float, float, float]:
        """The best ν found for a matrix, the stationarity that it leaves, and an estimate of the error."""
        ...


FAMILIES: MappingProxyType[str, MatrixFamily] = MappingProxyType({"spectral": schatten, "nuclear": nuclear})


def matrix_family(potential: Any) -> MatrixFamily:
    """Its row of the table."""
    try:
        return FAMILIES[potential.family]
    except KeyError:
        what = f"{type(potential).__name__} is of the family {potential.family!r}"
        raise NoPotentialError(f"{what}, which takes no matrices; {', '.join(FAMILIES)} do") from None
