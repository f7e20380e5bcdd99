"""Matrix factorizations: a predictor that is a matrix, as a product of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from tacit.data.arrays import Float, as_floats
from tacit.errors import InputError, NoPotentialError
from tacit.models.linear import as_deviation, as_generator, as_layers, as_size, size_of
from tacit.models.model import Model
from tacit.models.parametrizations import Factors, Weights


@dataclass(frozen=True, eq=False)
class Factorization(Model):
    r"""f(X) = ⟨U Vᵀ, X⟩ for matrices X, of predictor U Vᵀ (Woodworth et al. 2020, Section 6).

    Data are stacks of matrices, (N, d₁, d₂). Gradient flow keeps the imbalance UᵀU − VᵀV.

    left: U, (d₁, k). right: V, (d₂, k). Not both zero.
    """

    left: Any
    right: Any

    input_ndim = 3

    @property
    def parametrization(self) -> Factors:
        """⟨U Vᵀ, X⟩."""
        return Factors()

    def __post_init__(self) -> None:
        U, V = as_layers(left=self.left, right=self.right)
        object.__setattr__(self, "left", U)
        object.__setattr__(self, "right", V)

    @classmethod
    def gaussian(
        cls, shape: tuple[int, int], width: int, scale: float, seed: int | np.random.Generator = 0
    ) -> Factorization:
        """Independent weights ~ N(0, scale²), for predictors of the given shape (d₁, d₂).

        scale multiplies the *weights*, α in Woodworth et al. 2020, Section 6: entries of the predictor are of
        size σ = scale²·√k. One seed gives the same weights up to the scale.
        """
        try:
            rows, columns = shape
        except (TypeError, ValueError):
            raise InputError(f"shape must be two whole numbers, (d1, d2), got {shape!r}") from None
        d1, d2, k = as_size(rows, "shape[0]"), as_size(columns, "shape[1]"), as_size(width, "width")
        deviation, rng = as_deviation(scale, "scale"), as_generator(seed)
        if deviation == 0:
            raise InputError("scale must be positive, got 0; weights that start at 0 stay there")
        return cls(deviation * rng.standard_normal((d1, k)), deviation * rng.standard_normal((d2, k)))

    def __repr__(self) -> str:
        return f"Factorization(left=<{size_of(self.left)}>, right=<{size_of(self.right)}>)"

    def describe(self) -> str:
        """What the numbers mean, in a line."""
        (d1, width), d2 = self.left.shape, len(self.right)
        return (
            f"{self!r}: a {d1}×{d2} predictor of rank at most {min(d1, d2, width)}, "
            f"‖U‖ = {np.linalg.norm(self.left):.3g}, ‖V‖ = {np.linalg.norm(self.right):.3g}"
        )

    def as_inputs(self, X: Any) -> Float:
        """X as floats of shape (N, d₁, d₂); `InputError` otherwise."""
        X = as_floats(X, "X", ndim=(3,))
        d1, d2 = len(self.left), len(self.right)
        if X.shape[1:] != (d1, d2):
            raise InputError(
                f"the model takes {d1}×{d2} matrices but the data has {X.shape[1]}×{X.shape[2]} ones; "
                "X must be (samples, rows, columns)"
            )
        return X

    def start(self, d: int | None = None) -> Weights:
        """U and V at initialization; d, if given, counts the rows of the matrices."""
        if d not in (None, len(self.left)):
            raise InputError(f"the model takes matrices of {len(self.left)} rows but the data has {d}")
        return {"U": self.left.copy(), "V": self.right.copy()}

    def potential(self, d: int | None = None) -> NoReturn:
        """None: only measurements that commute have one."""
        self.start(d)
        raise NoPotentialError(
            "a matrix factorization has no potential in general: one is known only for measurements that "
            "commute, and in the limit of infinite width (Woodworth et al. 2020, Theorem 4); "
            "tacit.flow runs it"
        )
