"""The table of families: where flows end, by what a model or a potential says it is.

A family is a module. The six of potentials of vectors share one, which finds their minimizers by
`solvers.families`; neurons, linear networks and matrices have their own.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Protocol

from tacit.data.arrays import Float
from tacit.data.equations import Samples
from tacit.results.certificate import Certificate
from tacit.results.limit import Limit
from tacit.solvers.families import FAMILIES, connected, matrix, vectors
from tacit.solvers.flow_callback import Follow
from tacit.solvers.interpolation.solution import Ends


class Family(Protocol):
    """What a module of this table has. A result is a limit, or a flow that stands for one.

    RICH_END: the norm that the end at zero scale minimizes. RICH: what a limit close to it is called.
    DECADES: at how many other scales a picture compares it with its ends. ENDS_MOVE: do these depend on the
    scale? follow: runs a flow, where only one can tell.
    """

    RICH_END: str
    RICH: str
    DECADES: int
    ENDS_MOVE: bool

    def as_data(self, model: Any, X: Any, y: Any) -> tuple[Float, Float]:
        """X and y as the model takes them, checked."""
        ...

    def known(self, model: Any, X: Any, y: Any) -> bool:
        """Is there a limit, or can only a flow tell where it ends?"""
        ...

    def limit(self, model: Any, X: Float, y: Float, samples: Samples, tol: float, follow: Follow) -> Limit:
        """Where the flow ends; samples: the left side of the equations, with all digits."""
        ...

    def has_ends(self, result: Any) -> bool:
        """Is there a scale?"""
        ...

    def ends(self, result: Any) -> Ends | None:
        """The limits at infinite and at zero scale."""
        ...

    def turning(self, result: Limit, ends: Ends, follow: Follow) -> float:
        """1 − cos of the angle between the tangent kernels at the start and at the limit; NaN if unknown."""
        ...

    def doubt(self, result: Limit) -> str:
        """What the data do not determine, in words."""
        ...

    def certify(
        self, model: Any, X: Any, y: Any, predictor: Any, problem: str, tol: float, follow: Follow
    ) -> Certificate:
        """The residuals of the optimality conditions at a predictor, of "regression" or "margin"."""
        ...


TABLE: MappingProxyType[str, Family] = MappingProxyType(
    {
        **dict.fromkeys(FAMILIES, vectors),
        "connected": connected,
        "factorization": matrix,
        "spectral": matrix,
        "nuclear": matrix,
    }
)


def table_row(model: Any) -> Family:
    """The row of a model or a potential; models of vectors with a potential have that of vectors."""
    return TABLE.get(getattr(model, "family", ""), vectors)


def doubt(result: Limit) -> str:
    """What leaves a limit in doubt, in words."""
    return table_row(result.model).doubt(result)
