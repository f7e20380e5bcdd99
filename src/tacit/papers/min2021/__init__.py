"""Min et al. 2021: imbalance of linear networks, speed of convergence, and implicit bias.

Errata
------
Tests are in [`test_theorems_min.py`](../tests/papers/min2021/test_theorems_min.py).
"""

from tacit.papers.catalogue import Item

TITLE = "Min et al. 2021, On the Explicit Role of Initialization"
ARXIV = "2105.06351"
ITEMS = (
    Item("Setting", "the network in the coordinates of its data", "1-8", tests=("test_theorems_min.py",)),
    Item("Claim", "the imbalance Λ is conserved", "9"),
    Item("Theorem 1", "the loss falls at the rate of Λ", "10, 21-26"),
    Item(
        "Section 3.1",
        "the end is Θ̂ + Φ₂U₂V(∞)ᵀ",
        "11-14",
        tests=(
            "test_identities.py::test_the_end_is_the_least_norm_and_what_the_start_leaves",
            "test_theorems_min.py::test_equation_11_needs_the_frobenius_norm",
        ),
        why="min2021/distance, which is not in the paper, bounds the second term",
    ),
    Item("Proposition 1", "orthogonal starts end at the minimum-norm solution", "15-16"),
    Item("Lemma 1", "wide Gaussian starts are almost orthogonal", "17-19, 32-35"),
    Item("Theorem 2", "their distance to the minimum-norm solution", "20, 36-44"),
    Item("Lemma B.1", "Grönwall's inequality"),
    Item("Lemma B.2", "Weyl's inequality for singular values"),
    Item("Lemma B.3", "σᵢ(A)σ_n(B) ≤ σᵢ(AB)"),
    Item("Lemma B.4", "λ_n(A)tr B ≤ tr AB ≤ λ₁(A)tr B"),
    Item("Appendix C", "weights converge; bounds on their size", "27"),
    Item(
        "Appendix D",
        "the same flow in the parametrization of tangent kernels",
        "28-31",
        tests=("test_theorems_min.py::test_equations_28_and_29_have_one_minus_too_many",),
    ),
    Item("Lemma E.1", "singular values of Gaussian matrices"),
    Item("Figure 1", "distance to the minimum-norm solution against the width"),
    Item("Figure 2", "loss against imbalance"),
    Item("Figure 3", "the same by gradient descent"),
    Item("Figure 4", "Figure 1 by gradient descent"),
)
SHELL = "--model linear --width 500"  # options of `tacit check` for a model to which the theorems apply
