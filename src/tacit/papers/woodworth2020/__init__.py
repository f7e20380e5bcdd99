"""Figures of Woodworth et al. 2020, and the modules that define them."""

TITLE = "Woodworth et al. 2020, Kernel and Rich Regimes in Overparametrized Models"
FIGURES = {
    "fig1a": "figure1_regression",
    "fig1b": "figure1_regression",
    "fig1c": "figure1_regression",
    "fig2": "figure2_regularizers",
    "fig3a": "figure3_potentials",
    "fig3b": "figure3_potentials",
    "fig3c": "figure3_recovery",
    "fig5": "figure5_completion",
    "fig6a": "figure6_synthetic",
    "fig6b": "figure6_synthetic",
    "fig6c": "figure6_mnist",
    "fig6d": "figures6_8_cifar",
    "fig7": "figure7_univariate",
    "fig8": "figures6_8_cifar",
    "theorem4": "theorem4",
    "theorem9": "theorem9",
    "commuting": "commuting",
}
