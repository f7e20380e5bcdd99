"""Can a linear predictor classify every sample? If not, a combination of samples shows why."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from tacit.data import Float
from tacit.errors import NotSeparableError

_ROUNDING = 1e-9


def check_separable(X: Float, y: Float) -> None:
    """Return if some w has y_n x_n·w > 0 for all n; otherwise `NotSeparableError` with its certificate.

    By Farkas' lemma either such a w exists, or a combination c ≥ 0, Σc = 1, with Σ c_n y_n x_n = 0.
    """
    Z = y[:, None] * X
    sizes = np.linalg.norm(Z, axis=1)
    if not sizes.all():
        combination = (sizes == 0) / np.count_nonzero(sizes == 0)
        n = int(np.argmin(sizes))
        raise NotSeparableError(
            f"sample {n} has no feature that is not 0: nothing can classify it", combination
        )
    rows = Z / sizes[:, None]
    if _separated_by_least_squares(rows):
        return
    combination = _nearest_combination(rows)
    # At the optimum Z w ≥ 1 − Σc for w = Zᵀc, so w separates unless the combination vanishes.
    if (rows @ (combination @ rows)).min() > _ROUNDING * float(np.abs(combination).sum()) ** 2:
        return
    combination = combination / sizes
    combination /= combination.sum()
    involved = np.flatnonzero(combination > 1e-12)
    shown = ", ".join(map(str, involved[:8])) + (", …" if len(involved) > 8 else "")
    raise NotSeparableError(
        f"no linear predictor classifies every sample correctly: samples {shown} contradict each other "
        "(a positive combination of their y·x is 0; it is the error's `combination`). Drop or relabel one of "
        "them, add features, or use the square loss",
        combination,
    )


def _separated_by_least_squares(rows: Float) -> bool:
    """Does the w nearest to rows·w = 1 already have only positive margins?"""
    if len(rows) > rows.shape[1]:
        return False
    w = np.linalg.lstsq(rows, np.ones(len(rows)), rcond=None)[0]
    return bool((rows @ w).min() > 1e-6)


def _nearest_combination(rows: Float) -> Float:
    """argmin over c ≥ 0 of ‖Zᵀc‖² + (Σc − 1)²."""
    system = np.vstack([rows.T, np.ones(len(rows))])
    goal = np.zeros(len(system))
    goal[-1] = 1.0
    return np.asarray(nnls(system, goal, maxiter=30 * len(rows))[0])
