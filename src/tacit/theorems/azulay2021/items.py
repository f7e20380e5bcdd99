"""The numbered items of Azulay et al. 2021 on arXiv (at ICML), and where they are found."""

from tacit.theorems.items import Item

ITEMS = (
    Item("Section 3", "the limit minimizes Q where H is its Hessian", "1-7", tests=("test_derive.py",)),
    Item("Lemma 3.1 (ICML)", "the limit is finite, and so are multipliers", "", ("lemma3.1",)),
    Item("Theorem 1 (4.1)", "untied diagonal networks", "8-9, 16-20", ("theorem1",), ("fig7.1",)),
    Item("Section 5", "warps of time", "10-15", figures=("warp",), tests=("test_warping.py",)),
    Item("Theorem 2 (6.1)", "one linear neuron", "21-24", ("theorem2",), ("neuron-limits", "fig7.2")),
    Item("Proposition 1 (6.2)", "strictly balanced networks", "25", ("proposition1",), ("proposition1",)),
    Item("Theorem 3 (6.3)", "infinitesimal starts end at least norm", "", ("theorem3",), ("theorem3",)),
    Item("Section 7.1", "scale and shape together", "", ("section7.1",), ("fig7.1", "regime-map")),
    Item("Theorem 4 (8.1)", "one leaky neuron", "28-31", ("theorem4",), ("neuron-limits",)),
    Item(
        "Appendix E (F)",
        "what Q_k tends to as k → 0 and as k → ∞",
        tests=(
            "test_errata_regression.py::test_rich_end_has_a_minus_and_comes_at_the_rate_of_a_logarithm",
            "test_errata_regression.py::test_kernel_end_is_half_of_what_is_printed",
        ),
    ),
    Item(
        "Appendix F (G)",
        "kernel and rich regimes of a neuron",
        "26-27",
        figures=("fig7.2",),
        tests=("test_errata_connected.py::test_a_large_scale_alone_is_not_the_kernel_regime",),
    ),
    Item("Definition 1", "KKT points", "", ("definition1",)),
    Item("Lemma 1", "δ = 4αs/(1−s²)", "", ("lemma1",)),
    Item("Lemma 2", "√(α²+δ²/4) ± δ/2 by scale and shape", "", ("lemma2",)),
    Item(
        "Lemma 3",
        "the warp at 0",
        "",
        ("lemma3",),
        figures=("warp",),
        tests=("test_errata_connected.py::test_lemma_3_has_the_limit_root_delta",),
    ),
    Item("Lemma 4", "the RKHS norm of a linear kernel", "", ("lemma4",)),
    Item("Figure 7.1", "population error over scale and shape", figures=("fig7.1",)),
    Item("Figure 7.2", "contours of q", figures=("fig7.2",)),
)
