"""Figures of Moroshko et al. 2020, and the modules that define them."""

TITLE = "Moroshko et al. 2020, Implicit Bias in Deep Linear Classification"
FIGURES = {
    "fig3a": "figure3_sphere",
    "fig3b": "figure3_planes",
    "fig3c": "figure3_planes",
    "fig3d": "figure3_planes",
    "fig4a": "figure4_deep",
    "fig4b": "figure4_deep",
    "fig5a": "figure5_accuracy",
    "fig5b": "figure5_accuracy",
    "fig6": "figure6_clock",
    "fig7": "figure7_norms",
    "fig8a": "figure8_competition",
    "fig8b": "figure8_competition",
    "fig8c": "figure8_competition",
    "fig9": "figure9_kernel",
    "open-question": "open_question",
}
