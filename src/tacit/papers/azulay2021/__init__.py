"""Figures of Azulay et al. 2021 and about it, and the modules that define them."""

TITLE = "Azulay et al. 2021, On the Implicit Bias of Initialization Shape"
FIGURES = {
    "fig7.1": "figure7_1_scale_and_shape",
    "fig7.2": "figure7_2_neuron",
    "neuron-limits": "neuron_limits",
    "proposition1": "proposition1",
    "regime-map": "regime_map",
    "theorem3": "theorem3",
    "warp": "warp",
}
