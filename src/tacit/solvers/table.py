"""The table of solvers, by the family of a model or potential.

Each entry is a module. The six families of potentials of vectors share the module `vectors`, which uses the
minimizers in `solvers.families`; neurons, linear networks and matrices have their own modules.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Protocol

from tacit.data.arrays import Float
from tacit.data.equations import Samples
from tacit.results.certificate import Certificate
from tacit.results.limit import Limit
from tacit.solvers.families import FAMILIES, connected, matrix, vectors
from tacit.solvers.interpolation.solution import Ends, Follow


class Family(Protocol):
    """Interface of the modules in this table. A `result` is a limit, or a flow that has converged to one.

    RICH_END: the norm that the limit at zero scale minimizes. RICH: the name of the regime near it. DECADES:
    the number of scales at which a figure compares the limit with those at infinite and zero scale.
    ENDS_MOVE: whether these two depend on the scale of initialization. `follow` runs a flow, if the limit
    cannot be determined without one.
    """

    RICH_END: str
    RICH: str
    DECADES: int
    ENDS_MOVE: bool

    def as_data(self, model: Any, X: Any, y: Any) -> tuple[Float, Float]:
        """X and y, validated, in the shapes that the model requires."""

    def known(self, model: Any, X: Any, y: Any) -> bool:
        """Whether the limit can be computed without running the flow."""

    def limit(self, model: Any, X: Float, y: Float, samples: Samples, tol: float, follow: Follow) -> Limit:
        """The limit of the flow; samples: the prepared left-hand side of the equations."""

    def has_ends(self, result: Any) -> bool:
        """Whether the model has a scale."""

    def ends(self, result: Any) -> Ends | None:
        """The limits at infinite and at zero scale."""

    def kernel_distance(self, result: Limit, ends: Ends, follow: Follow) -> float:
        """1 − cosine of the tangent kernels at initialization and at the limit; NaN if unknown."""

    def explain_error(self, result: Limit) -> str:
        """A sentence that says what the data leave undetermined."""

    def certify(
        self, model: Any, X: Any, y: Any, predictor: Any, problem: str, tol: float, follow: Follow
    ) -> Certificate:
        """The residuals of the optimality conditions at a predictor; problem: "regression" or "margin"."""


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
    """The entry of a model or potential; `vectors` if its family is not listed."""
    return TABLE.get(getattr(model, "family", ""), vectors)


def explain_error(result: Limit) -> str:
    """A sentence that says why a limit is inaccurate."""
    return table_row(result.model).explain_error(result)
