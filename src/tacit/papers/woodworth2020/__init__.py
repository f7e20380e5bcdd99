"""Woodworth et al. 2020: kernel and rich regimes of diagonal networks, ReLU networks and factorizations."""

import importlib
from typing import Any

from tacit.papers.catalogue import Item

TITLE = "Woodworth et al. 2020, Kernel and Rich Regimes in Overparametrized Models"
ARXIV = "2002.09277"
ITEMS = (
    Item("Setting", "gradient flow, the tangent kernel, the squared model", "1-3", tests=("test_models.py",)),
    Item("Theorem 1", "the limit at depth 2, for any shape of the initialization", "4-5, 15-21"),
    Item(
        "Ends of Q",
        "as α → ∞ a norm weighted by the shape, as α → 0 the ℓ1 norm for any shape",
        "6-7",
        tests=(
            "test_potentials.py::test_large_scale_is_a_parabola_and_small_scale_the_absolute_value",
            "test_regimes.py::test_the_kernel_end_of_a_profile_is_the_weighted_norm",
            "test_models.py::test_a_profile_matters_in_the_rich_limit_above_depth_two_only",
        ),
    ),
    Item("Theorem 2", "scales at which the limit is near the minimum ℓ1 or ℓ2 norm solution", "44-49"),
    Item(
        "Explicit regularization",
        "the distance R that weights must move differs from Q",
        "8-9",
        tests=("test_errata_regression.py::test_quartic_has_two_real_roots_and_r_is_the_smallest",),
    ),
    Item("Section 4, generalization", "N = Ω(r* log d) samples suffice for ℓ1, ℓ2 needs N = Ω(d)"),
    Item("Section 4, optimization", "the time to escape from the saddle grows as α → 0"),
    Item("Theorem 3", "the limit at depth D, and its limits as α → 0 and α → ∞", "10, 55-66"),
    Item("Theorem 4", "the limit of wide matrix factorizations", "67"),
    Item(
        "Appendix C",
        "untied weights with equal absolute values keep them equal",
        "11-14",
        tests=("test_errata_regression.py::test_equations_11_to_14_have_a_wrong_sign_and_a_square",),
        why="azulay2021/theorem1 is the general case",
    ),
    Item("Lemma 5", "at small scales Q is close to a multiple of the ℓ1 norm", "22-30"),
    Item("Lemma 6", "at larger scales Q is far from the ℓ1 norm", "31-37"),
    Item("Lemma 7", "at large scales Q is close to a multiple of the squared ℓ2 norm", "38-43"),
    Item("Lemma 8", "the multipliers of depth D > 2 are bounded", "50-54"),
    Item("Theorem 9", "wide factorizations move little and stay close to their linearized flow", "68, 82-87"),
    Item("Corollary 10", "Theorem 9 for Gaussian weights", "69-70, 88-100"),
    Item("Lemma 11", "residuals decrease exponentially near initialization", "71-77"),
    Item("Lemma 12", "a bound on the movement of W", "78-81"),
    Item("Lemma 13", "W Wᵀ of Gaussian weights is close to a multiple of the identity"),
    Item("Figure 1", "population error, excess norms and largest recovering scale"),
    Item("Figure 2", "the implicit regularizer q and the explicit regularizer r"),
    Item("Figure 3", "the effect of depth"),
    Item("Figure 4", "sketch of a wide parallel network", why="a sketch of the model without data"),
    Item("Figure 5", "matrix completion over scale and width"),
    Item("Figure 6", "ReLU networks, MNIST and CIFAR-10"),
    Item("Figure 7", "univariate ReLU networks"),
    Item("Figure 8", "training curves"),
    Item("Figure 9", "sketch of diagonal networks", why="a sketch of the model without data"),
)
_SCALES = ("rich_log_scale", "kernel_log_scale")  # functions of theorem2.py that are public here


def __getattr__(name: str) -> Any:
    """The scales of Theorem 2, on first use."""
    if name in _SCALES:
        return getattr(importlib.import_module(f"{__name__}.theorem2"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
