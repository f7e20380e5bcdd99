"""Woodworth et al. 2020: kernel and rich regimes of diagonal and ReLU networks and of factorizations."""

import importlib
from typing import Any

from tacit.papers.catalogue import Item

TITLE = "Woodworth et al. 2020, Kernel and Rich Regimes in Overparametrized Models"
ARXIV = "2002.09277"
ITEMS = (
    Item("Setting", "gradient flow, the tangent kernel, the squared model", "1-3", tests=("test_models.py",)),
    Item("Theorem 1", "where depth 2 ends, from any shape", "4-5, 15-21"),
    Item(
        "Ends of Q",
        "a norm weighted by the shape as α → ∞, the ℓ1 norm of any shape as α → 0",
        "6-7",
        tests=(
            "test_potentials.py::test_large_scale_is_a_parabola_and_small_scale_the_absolute_value",
            "test_regimes.py::test_the_kernel_end_of_a_profile_is_the_weighted_norm",
            "test_models.py::test_a_profile_matters_in_the_rich_limit_above_depth_two_only",
        ),
    ),
    Item("Theorem 2", "from which scale on the limit is near ℓ1 or ℓ2", "44-49"),
    Item(
        "Explicit regularization",
        "the distance R that weights must move is another function than Q",
        "8-9",
        tests=("test_errata_regression.py::test_quartic_has_two_real_roots_and_r_is_the_smallest",),
    ),
    Item("Section 4, generalization", "N = Ω(r* log d) samples for ℓ1, N = Ω(d) for ℓ2"),
    Item("Section 4, optimization", "α → 0 takes long to leave the saddle"),
    Item("Theorem 3", "where depth D ends, and where that goes as α → 0 and α → ∞", "10, 55-66"),
    Item("Theorem 4", "where wide factorizations end", "67"),
    Item(
        "Appendix C",
        "untied weights of equal size stay equal",
        "11-14",
        tests=("test_errata_regression.py::test_equations_11_to_14_have_a_wrong_sign_and_a_square",),
        why="azulay2021/theorem1 is the general case",
    ),
    Item("Lemma 5", "at small scales Q is near a multiple of ℓ1", "22-30"),
    Item("Lemma 6", "at larger scales Q is far from ℓ1", "31-37"),
    Item("Lemma 7", "at large scales Q is near ℓ2", "38-43"),
    Item("Lemma 8", "the multipliers of depth D > 2 are bounded", "50-54"),
    Item("Theorem 9", "wide factorizations move little, and stay near their tangent flow", "68, 82-87"),
    Item("Corollary 10", "the same for Gaussian weights", "69-70, 88-100"),
    Item("Lemma 11", "residuals fall exponentially near the start", "71-77"),
    Item("Lemma 12", "how far W moves", "78-81"),
    Item("Lemma 13", "W Wᵀ of Gaussian weights is near a multiple of I"),
    Item("Figure 1", "population error, excess norms, largest scale"),
    Item("Figure 2", "q and r"),
    Item("Figure 3", "depth"),
    Item("Figure 4", "a drawing of a wide parallel network", why="a sketch of the model, without numbers"),
    Item("Figure 5", "matrix completion over scale and width"),
    Item("Figure 6", "ReLU networks, MNIST, CIFAR-10"),
    Item("Figure 7", "univariate ReLU networks"),
    Item("Figure 8", "training curves"),
    Item("Figure 9", "a drawing of diagonal networks", why="a sketch of the model, without numbers"),
)
_SCALES = ("rich_log_scale", "kernel_log_scale")  # asked for without a theorem


def __getattr__(name: str) -> Any:
    """The scales of Theorem 2, on first use."""
    if name in _SCALES:
        return getattr(importlib.import_module(f"{__name__}.theorem2"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
