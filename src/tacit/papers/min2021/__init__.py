"""Figures of Min et al. 2021, and the modules that define them."""

TITLE = "Min et al. 2021, On the Explicit Role of Initialization"
FIGURES = {
    "fig1": "figure1_width",
    "fig2": "figure2_loss",
    "fig3": "figure3_descent",
    "fig4": "figure4_descent",
}
