r"""Theorem 4 of Woodworth et al. 2020: the limit of wide factorizations with commuting measurements.

    UVᵀ(∞) = argmin Q_μ(spectrum of M) s.t. ⟨X_n, M⟩ = y_n,     2μ² = lim α²k,   [U; V][U; V]ᵀ → 2μ²I

as the width k grows: exactly at infinite width, up to O(k^{−1/2}) for weights from N(0, α²). The lifted
measurements must commute: X_nX_mᵀ and X_nᵀX_m must be symmetric for all n and m, which holds if the X_n are
symmetric and commute. It is not sufficient that the X_n themselves commute (see the errata).

Errata
------
### Theorem 4: what must commute, and which scale μ is
- **Printed.** "suppose X₁, …, X_N commute".
- **Holds.** The lifted measurements X̄_n = ½[[0, X_n], [X_nᵀ, 0]] must commute: X_nX_mᵀ and X_nᵀX_m must
  be symmetric for all n and m. This holds if the X_n are symmetric (for example diagonal) and commute, but
  not for all commuting X_n.
- **Why.** The proof diagonalizes the dynamics of the lifted matrix, which depend on the X̄_n.
- **Evidence.** The identity and the cyclic shift of three coordinates commute. With targets 1 and −½ the
  flow from [U; V][U; V]ᵀ = 0.05·I ends 6% from the minimizer of Q_μ. With a symmetrized shift it ends at the
  minimizer.
- **Note.** Q_μ is Σ μ² q(σ_i/μ²) with μ² = ½σ√k = α²k/2: *half* of the diagonal of the lifted matrix,
  which tends to 2μ²I. σ(k) → 0 is not needed. For Gaussian weights the distance to the minimizer is of order
  k^{−1/2} (fitted exponent −0.50 at α²k = 0.01 and 1).
- **Tests.** `test_measurements_of_theorem_4_must_commute_when_lifted`,
  `test_the_scale_of_theorem_4_is_half_of_the_lifted_matrix`.
- **In Tacit.** `tacit.theorems.check("woodworth2020/theorem4", …)`; `tacit reproduce
  woodworth2020/theorem4`, and `woodworth2020/commuting` for measurements that do not commute: in the kernel
  regime the minimizer of Q_μ is still correct up to (α²k)^{−2}; at small scales it is not.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import Float
from tacit.papers import Assumption, Bound, Parts, Premise, theorem
from tacit.papers.agreement import AGREE
from tacit.papers.arguments import arrived
from tacit.papers.measures import exponent
from tacit.papers.woodworth2020.lifted import Lifted, asymmetric, ended, lift, spectral_limit, wide

_COMMUTE = 1e-10  # relative size below which a commutator is round-off
_SLACK = 0.1  # tolerance of an exponent fitted to a few draws


@theorem("woodworth2020/theorem4", flows=18, matrices=True)
def theorem4(
    model: Any,
    X: Any,
    y: Any,
    widths: tuple[int, ...] = (100, 1000, 10_000, 100_000),
    draws: int = 4,
    seed: int = 0,
) -> Parts:
    """UVᵀ(∞) → argmin Q_μ(spectrum(M)) s.t. ⟨X_n, M⟩ = y_n as k → ∞, 2μ² = α²k, if the lifted measurements
    commute (X_nX_mᵀ and X_nᵀX_m are symmetric) and the flow fits the data.

    Printed: X₁, …, X_N commute; but then the lifted ½[[0, X_n], [X_nᵀ, 0]] need not commute, and the flow may
    have another limit.

    Theorem 4 at infinite width, and its rate at finite widths, at the level α²k of the model.

    widths, draws, seed: of the Gaussian weights for which a power of the width is fitted to the distance from
    the minimizer (root mean square over the draws).
    """
    yield asymmetric(model)
    lifted = lift(model, X, y)
    size = commutator(lifted.X)
    text = f"the lifted measurements commute: ‖X̄_nX̄_m − X̄_mX̄_n‖/‖X̄_n‖‖X̄_m‖ ≤ {size:.2g} for all n, m"
    yield Assumption(text, size <= _COMMUTE)
    level = float(lifted.spectrum.mean())
    try:
        found = spectral_limit(lifted.X, lifted.y, level)
    except tacit.InconsistentDataError as error:
        yield Premise(f"some M has ⟨X_n, M⟩ = y_n (best relative residual: {error.residual:.2g})", False)
    message = "the minimizer of Q_μ on spectra did not converge, so the flow cannot be compared with it"
    predicted = np.asarray(arrived(found, message).predictor)
    exact = wide(predicted.shape, math.inf, level)
    end, fits, reason = ended(exact, lifted.X, lifted.y, rtol=1e-10)
    yield Assumption("the flow fits the data" + ("" if fits else f": {reason}"), fits)
    size = float(np.linalg.norm(predicted)) or 1.0
    text = f"relative distance of the limit from [U; V][U; V]ᵀ = 2μ²I, 2μ² = {level:.4g}, to the minimizer"
    yield Bound(text, float(np.linalg.norm(end - predicted)) / size, at_most=AGREE)
    own, _, _ = ended(lifted.model, lifted.X, lifted.y)
    text = f"the same from the weights of the model, of width {lifted.width} (the theorem states no bound)"
    yield Bound(text, float(np.linalg.norm(own - predicted)) / size)
    distances = [_spread(lifted, predicted, width, level, draws, seed) for width in widths]
    text = f"power of the width to which it is proportional, fitted from {min(widths)} to {max(widths)}"
    yield Bound(text, exponent(widths, distances), at_most=-0.5 + _SLACK, at_least=-0.5 - _SLACK)


def commutator(X: Float) -> float:
    """The largest ‖X̄_nX̄_m − X̄_mX̄_n‖/‖X̄_n‖‖X̄_m‖ of the lifted measurements."""
    scaled = X / np.linalg.norm(X, axis=(1, 2), keepdims=True)
    worst = 0.0
    for each in scaled:
        for product in (each @ scaled.transpose(0, 2, 1), each.T @ scaled):
            skew = product - product.transpose(0, 2, 1)
            worst = max(worst, float(np.linalg.norm(skew, axis=(1, 2)).max()))
    return worst


def _spread(lifted: Lifted, predicted: Float, width: int, level: float, draws: int, seed: int) -> float:
    """‖UVᵀ(∞) − predicted‖, root mean square over draws, which use the same seeds at every width."""
    squares = []
    for draw in range(draws):
        model = wide(predicted.shape, width, level, np.random.default_rng([seed, draw]))
        end, _, _ = ended(model, lifted.X, lifted.y, 1e-7, 1e-7)
        squares.append(np.sum((end - predicted) ** 2))
    return math.sqrt(np.mean(squares))
