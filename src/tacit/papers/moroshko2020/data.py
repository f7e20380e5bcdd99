"""Three points in three dimensions with the properties shown in Figures 3, 4, 6, 7 of Moroshko et al. 2020.

The paper does not print its points; these have the properties that its figures illustrate. Rows are y_n x_n,
so that all labels are +1.
"""

from __future__ import annotations

import numpy as np

from tacit.data.arrays import Float

SAME_SUPPORT: Float = np.array([[0.9, 0.5, -0.2], [1.5, 0.8, 0.1], [1.2, 0.8, 0.2]])
"""Figure 3b: sample 0 alone supports the ℓ2 margin, the ℓ1 margin, and every Q_μ margin between them."""

TWO_SUPPORT_VECTORS: Float = np.array([[1.0, 1.5, -0.5], [1.1, -0.1, 0.1], [-0.5, 1.5, 0.6]])
"""As Figure 3b, but with two support vectors, 1 and 2, along the whole Q_μ path."""

MANY_L1: Float = np.array([[1.0, 1.0, 0.3], [2.5, 0.2, 1.0], [1.6, 0.8, -0.4]])
"""Figure 3c: every (a, 1 − a, 0) with 8/23 ≤ a ≤ 1 has the largest ℓ1 margin."""

SUPPORT_LEAVES: Float = np.array([[1.18, 1.37, -0.27], [0.83, 0.76, 0.70], [1.06, -0.49, 1.39]])
"""Figure 3d: all three support the ℓ2 margin; on the Q_μ path sample 0 leaves at μ = 0.0404, a kink."""

DEEP_ONE_END: Float = np.array([[1.21, 0.72, 1.45], [0.37, -0.14, -0.43], [1.04, -0.33, 0.79]])
"""Figure 4a: at depth 3 every scale ends at the ℓ_{2/3} margin, (2.703, 0, 0), which is not that of ℓ1."""

DEEP_LOCAL_END: Float = np.array([[0.56, 1.43, 0.41], [1.12, 1.01, -0.86], [0.34, -0.57, 1.46]])
"""Figure 4b: at depth 3 small scales end at a local ℓ_{2/3} margin, (2.941, 0, 0), large ones do not."""

LABELS: Float = np.ones(3)
"""The labels of the three samples in every dataset."""

ALL: dict[str, Float] = {
    "3b": SAME_SUPPORT,
    "3b, two support vectors": TWO_SUPPORT_VECTORS,
    "3c": MANY_L1,
    "3d": SUPPORT_LEAVES,
    "4a": DEEP_ONE_END,
    "4b": DEEP_LOCAL_END,
}
"""The data sets by figure."""
for _rows in (LABELS, *ALL.values()):
    _rows.setflags(write=False)
