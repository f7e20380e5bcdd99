"""Which tests are numerical, and which of all `make test` leaves to `make test-all`.

Numerical are all but those of inputs, files and texts: they must hold on every CPU. Thorough are those that
show on more draws and cases what others show on fewer: of families that ask one question of many cases, every
second or third is for every day; of figures, those that take a few seconds; and that claims fail where the
software is made wrong on purpose is asked when figures change.
"""

import re
from collections import Counter

import pytest

_NOT_NUMERICAL = {
    "test_api",
    "test_cli",
    "test_cli_check",
    "test_conformance",
    "test_layers",
    "test_cli_units",
    "test_data",
    "test_cli_tables",
    "test_inputs",
    "test_keys",
    "test_labels",
    "test_letters",
    "test_papers",
    "test_path_portrait",
    "test_tables",
    "test_verdict",
    "test_waiting",
}
_WRONG_SOFTWARE = {
    "test_moroshko_norms.py::test_a_wrong_flow_fails_claims",
    "test_moroshko_plane.py::test_a_wrong_flow_fails_claims",
    "test_moroshko_plane.py::test_a_sweeping_process_that_is_the_path_fails",
    "test_moroshko_plane.py::test_a_figure_is_made_of_what_has_no_numbers_too",
    "test_azulay_figures.py::test_a_figure_is_made_of_what_has_no_numbers_too",
    "test_azulay_figures.py::test_a_wrong_limit_fails_claims",
    "test_azulay_figures.py::test_a_wrong_flow_fails_claims",
    "test_azulay_figures.py::test_a_wrong_flow_or_a_wrong_warp_is_seen_in_the_two_clocks",
    "test_min_figures.py::test_a_wrong_flow_fails_claims",
    "test_min_figures.py::test_descent_that_ends_elsewhere_fails_figure_4",
}
_OTHER_DRAWS = {
    "test_azulay_figures.py::test_claims_hold_of_other_draws_too",
    "test_moroshko_plane.py::test_the_open_question_is_answered_on_other_draws_too",
    "test_min_figures.py::test_claims_hold_of_another_draw",
    "test_limit_accuracy.py::test_limit_of_a_hundred_samples_and_a_thousand_features",
}
_MANY_CASES = {  # of which each second, or third, is enough
    "test_limit_neuron.py::test_limits_are_those_of_the_closed_form": 2,
    "test_limit_neuron.py::test_starts_above_the_loss_of_the_zero_predictor": 3,
    "test_limit_neuron.py::test_limits_of_linear_neurons_agree_with_simulated_flows": 3,
    "test_limit_neuron.py::test_limits_of_leaky_neurons_agree_with_simulated_flows": 2,
    "test_limit_neuron.py::test_small_starts_keep_or_change_it_as_linear_flows_do": 2,
    "test_flow_unfittable.py::test_random_overdetermined_problems": 2,
    "test_limit_accuracy.py::test_sparse_data_without_noise": 3,
    "test_limit_accuracy.py::test_limit_agrees_with_sixty_digit_arithmetic": 3,
    "test_limit_accuracy.py::test_limit_from_a_profile_and_at_real_depth": 2,
    "test_limit_faces.py::test_the_choice_is_right_without_noise_too": 3,
    "test_flow_trajectory.py::test_every_trajectory_has_a_picture": 2,
    "test_flow_exponential.py::test_flow_agrees_with_many_digits": 2,
    "test_flow_square.py::test_small_scales_and_large_depths_take_few_steps": 2,
    "test_flow_connected.py::test_leaky_neurons_agree_with_rounded_kinks": 2,
    "test_flow_connected.py::test_leaky_neurons_under_other_losses_agree_with_rounded_kinks": 2,
    "test_flow_connected.py::test_targets_of_zero_are_reached_from_either_side_of_the_kink": 3,
    "test_potentials.py::test_value_gradient_and_hessian_match_the_definitions": 3,
    "test_potentials_jax.py::test_differentiating_the_value_gives_the_gradient_and_again_the_hessian": 2,
    "test_potentials_jax.py::test_jitted_formulas_agree_with_numpy": 2,
    "test_moroshko_plane.py::test_what_planes_show_is_sound": 3,
    "test_moroshko_plane.py::test_flows_are_drawn_without_chords": 2,
    "test_moroshko_norms.py::test_the_accuracy_needed_is_that_of_many_digits": 3,
    "test_sweeping.py::test_visits_between_the_looks_are_seen": 2,
    "test_theorems_min.py::test_the_loss_falls_at_least_as_promised": 3,
    "test_max_margin.py::test_potentials_of_networks_agree_with_sixty_digits_and_the_path": 3,
    "test_max_margin.py::test_below_one_a_search_by_brute_force_finds_no_other": 3,
    "test_conformance.py::test_models": 3,
    "test_conformance.py::test_potentials": 2,
    "test_conformance.py::test_losses": 3,
    "test_intercept_margins.py::test_below_one_what_is_found_are_local_minima": 3,
}
_LONG_FIGURES = re.compile(
    r"test_every_figure_is_made.*\[(woodworth2020/fig(1c|3c)|moroshko2020/fig(8a|6|3b|3c|4a|4b|5b)|"
    r"azulay2021/(theorem3|neuron-limits)|min2021/fig4)\]"
)


def pytest_collection_modifyitems(items):
    seen = Counter()
    for item in items:
        if item.path.stem not in _NOT_NUMERICAL:
            item.add_marker(pytest.mark.numerical)
        family = f"{item.path.name}::{item.name.partition('[')[0]}"
        number = seen[family]
        seen[family] += 1
        many = number % _MANY_CASES.get(family, 1) != 0
        if many or family in _WRONG_SOFTWARE | _OTHER_DRAWS or _LONG_FIGURES.search(item.name):
            item.add_marker(pytest.mark.thorough)
