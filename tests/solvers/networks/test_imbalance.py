"""The level c of Theorem 1 of Min et al., against the eigenvalues of Λ as a full matrix."""

import numpy as np
import pytest

from tacit.solvers.networks.bounds import imbalance_level


def level(inner, outer, X):
    """[λ_r(Λ)]₊ + [λ_m(−Λ)]₊ from U₁ and V themselves."""
    _, sizes, right = np.linalg.svd(X, full_matrices=False)
    seen = right[sizes > 1e-10 * sizes[0]] @ inner
    values = np.sort(np.linalg.eigvalsh(seen.T @ seen - outer.T @ outer))
    return max(values[::-1][len(seen) - 1], 0.0) + max(-values[len(outer) - 1], 0.0)


@pytest.mark.parametrize("outputs", [1, 2, 3, 4])
@pytest.mark.parametrize("sizes", [(1.0, 1.0), (3.0, 1.0), (0.2, 2.0)])
def test_the_level_counts_as_many_negative_eigenvalues_as_outputs(outputs, sizes):
    rng = np.random.default_rng(outputs)
    X = rng.standard_normal((3, 6))
    inner, outer = sizes[0] * rng.standard_normal((6, 12)), sizes[1] * rng.standard_normal((outputs, 12))
    expected = level(inner, outer, X)
    assert expected > 0.1
    assert imbalance_level(inner, outer, X) == pytest.approx(expected, rel=1e-12)
