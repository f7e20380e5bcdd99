"""Moroshko et al. 2020: classification by diagonal networks, initialization scale against training accuracy.

Errata
------
Here μ is a scale of the *predictor*, Q_μ(w) = Σ q(w/μ), and x_n stands for y_n x_n throughout the
appendix. Tests are in
[`test_theorems_moroshko.py`](../tests/papers/moroshko2020/test_theorems_moroshko.py) unless another file
is named.

### Small slips in proofs, which change no number
(68) lacks a factor N. (43) needs e^{γ̃₀} ≥ 1 + N·x_max². Conditions 8 and 9 print γ̃(γ̃) for γ(γ̃). The
kernel distance of Appendix H.4 is meant with the Frobenius norm.
"""

from tacit.papers.catalogue import Item

TITLE = "Moroshko et al. 2020, Implicit Bias in Deep Linear Classification"
ARXIV = "2007.06738"
ITEMS = (
    Item("Setting", "gradient flow, the diagonal model, Q_μ", "1, 5-6", tests=("test_models.py",)),
    Item("Theorem 1", "large scales follow the linearized model for any fixed time", "2"),
    Item("Theorem 2", "the direction tends to a KKT point of min ‖u‖₂ (Lyu and Li)", "3-4"),
    Item("Lemma 3", "a bound on the decrease of the loss", "30-33"),
    Item("Theorem 4", "γ̃ = o(α^D): the ℓ2 margin"),
    Item("Condition 5", "samples off the support were never on it"),
    Item("Theorem 6", "γ̃ = α^D/μ: the margin of Q_μ"),
    Item("Theorem 7", "γ̃ = ω(α^D): the ℓ1 margin"),
    Item("Role of depth", "exp(1/δ) against poly(1/δ), and 10^−8700"),
    Item(
        "Properties of h_D",
        "its slope is at least 2D/(D−2)",
        "7-9",
        tests=(
            "test_identities.py::test_the_slope_of_h_is_least_at_zero",
            "test_potentials.py::test_mirror_map_matches_its_definition",
        ),
    ),
    Item("Useful inequalities", "γ ≤ γ̃ ≤ γ + log N, and ‖w‖₂ ≥ γ̃/x_max", "10-12"),
    Item("Condition 8", "Condition 5 in terms of γ̃"),
    Item(
        "Condition 9",
        "a weaker one, for D = 2",
        tests=("test_theorems_moroshko.py::test_at_depth_2_a_support_vector_may_leave",),
        why="it holds for all data whose support changes finitely often; theorem7 has no other condition",
    ),
    Item("Lemma 10", "w(t) = 2α² sinh(4X∫r) for D = 2", "13-17"),
    Item("Lemma 11", "a bound on w, D = 2", "18-20"),
    Item("Lemma 12", "w(t) = α^D h_D(…∫r) for D > 2", "21-26"),
    Item("Lemma 13", "a bound on w, D > 2", "27-29"),
    Item("Appendix E", "Condition 5 holds for the linearized model", "34-44"),
    Item("Theorem 14", "Theorem 4 for D = 2", "45-50"),
    Item("Theorem 15", "Theorem 6 for D = 2", "51-60"),
    Item("Theorem 16", "Theorem 7 for D = 2", "61-69"),
    Item("Theorem 17", "Theorem 4 for D > 2", "70-75"),
    Item("Theorem 18", "Theorem 6 for D > 2", "76-84"),
    Item("Theorem 19", "Theorem 7 for D > 2", "85-86"),
    Item("Appendix H.5", "normalized descent without loss values", "87", tests=("test_flow_exponential.py",)),
    Item("Figure 1", "kernel and rich limits", why="a sketch; azulay2021/regime-map has it with numbers"),
    Item("Figure 2", "a drawing of diagonal networks", why="a sketch of the model, without numbers"),
    Item("Figure 3", "flows of depth 2"),
    Item("Figure 4", "flows of depth 3"),
    Item("Figure 5", "excess ℓ1 norm, and the required accuracy"),
    Item("Figure 6", "accuracies along Figure 3"),
    Item("Figure 7", "which ℓ1 margin is selected"),
    Item("Figure 8", "ten dimensions"),
    Item("Figure 9", "distance of the tangent kernel"),
)
