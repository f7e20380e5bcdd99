"""Azulay et al. 2021: initialization scale and shape, of untied diagonal networks and of neurons."""

from tacit.papers.catalogue import Item

TITLE = "Azulay et al. 2021, On the Implicit Bias of Initialization Shape"
ARXIV = "2102.09769"
ITEMS = (
    Item("Section 3", "the limit minimizes Q where H is its Hessian", "1-7", tests=("test_derive.py",)),
    Item("Lemma 3.1 (ICML)", "the limit is finite, and so are multipliers"),
    Item("Theorem 1 (4.1)", "untied diagonal networks", "8-9, 16-20"),
    Item("Section 5", "warps of time", "10-15", tests=("test_warping.py",)),
    Item("Theorem 2 (6.1)", "one linear neuron", "21-24"),
    Item("Proposition 1 (6.2)", "strictly balanced networks", "25"),
    Item("Theorem 3 (6.3)", "infinitesimal starts end at the minimum-norm solution"),
    Item("Section 7.1", "scale and shape together"),
    Item("Theorem 4 (8.1)", "one leaky neuron", "28-31"),
    Item(
        "Appendix E (F)",
        "limits of Q_k as k → 0 and as k → ∞",
        tests=(
            "test_errata_regression.py::test_rich_end_has_a_minus_and_comes_at_the_rate_of_a_logarithm",
            "test_errata_regression.py::test_kernel_end_is_half_of_what_is_printed",
        ),
    ),
    Item(
        "Appendix F (G)",
        "kernel and rich regimes of a neuron",
        "26-27",
        tests=("test_errata_connected.py::test_a_large_scale_alone_is_not_the_kernel_regime",),
    ),
    Item("Definition 1", "KKT points"),
    Item("Lemma 1", "δ = 4αs/(1−s²)"),
    Item("Lemma 2", "√(α²+δ²/4) ± δ/2 by scale and shape"),
    Item(
        "Lemma 3", "the warp at 0", tests=("test_errata_connected.py::test_lemma_3_has_the_limit_root_delta",)
    ),
    Item("Lemma 4", "the RKHS norm of a linear kernel"),
    Item("Figure 7.1", "population error over scale and shape"),
    Item("Figure 7.2", "contours of q"),
)
