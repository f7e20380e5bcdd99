"""Construction of untied networks with several layers."""

import numpy as np
import pytest

import tacit
from tacit.errors import InputError

RNG = np.random.default_rng(2)
PLUS, MINUS = RNG.standard_normal((2, 4, 5))
X = RNG.standard_normal((3, 5))


def test_predictor_and_tangent_kernel_at_the_start():
    model = tacit.UntiedDiagonal.from_layers(PLUS, MINUS)
    np.testing.assert_allclose(model.predictor(), PLUS.prod(axis=0) - MINUS.prod(axis=0))
    slopes = np.concatenate([layers.prod(axis=0) / layers for layers in (PLUS, MINUS)])
    np.testing.assert_allclose(model.tangent_kernel(X), (X * (slopes**2).sum(axis=0)) @ X.T)


def test_differences_of_squares_are_conserved():
    found = tacit.UntiedDiagonal.from_layers(PLUS, MINUS).conserved()
    assert len(found) == 6
    np.testing.assert_allclose(found["a₂₊² − a₁₊²"], PLUS[1] ** 2 - PLUS[0] ** 2)
    np.testing.assert_allclose(found["a₄₋² − a₃₋²"], MINUS[3] ** 2 - MINUS[2] ** 2)


def test_two_layers_are_the_untied_network():
    model = tacit.UntiedDiagonal.from_layers(PLUS[:2], MINUS[:2])
    other = tacit.UntiedDiagonal.from_weights(*PLUS[:2], *MINUS[:2])
    assert isinstance(model, tacit.UntiedDiagonal)
    w = RNG.standard_normal(5)
    np.testing.assert_array_equal(model.potential(5).gradient(w), other.potential(5).gradient(w))


def test_words():
    shared = tacit.UntiedDiagonal.from_layers([0.1, 0.2, 0.5])
    assert repr(shared) == "UntiedDiagonal.from_layers([0.1, 0.2, 0.5])"
    assert "products of 3 layers of size 0.01" in shared.describe()
    assert "[0.1, 0.2, 0.5], [1, 2, 3]" in repr(tacit.UntiedDiagonal.from_layers([0.1, 0.2, 0.5], [1, 2, 3]))
    assert "<4 layers of 5 coordinates>" in repr(tacit.UntiedDiagonal.from_layers(PLUS, MINUS))


@pytest.mark.parametrize(
    ("plus", "minus", "words"),
    [
        ([0.1], [0.1], "same number of layers, at least 2, got 1 and 1"),
        ([0.1, 0.2, 0.3], [0.1, 0.2], "got 3 and 2"),
        ([0.1, 0.2, np.ones(3)], [0.1, 0.2, np.ones(4)], "plus\\[2\\] \\(3,\\), minus\\[2\\] \\(4,\\)"),
        (0.1, [0.1, 0.2], "plus must be a list of layers"),
        ([0.1, 0.2, np.nan], None, "plus\\[2\\]"),
    ],
)
def test_layers_that_do_not_match_are_refused(plus, minus, words):
    with pytest.raises(InputError, match=words):
        tacit.UntiedDiagonal.from_layers(plus, minus)


def test_other_numbers_of_features_are_refused():
    with pytest.raises(InputError, match="the model has 5 coordinates but the data has 4 features"):
        tacit.limit(tacit.UntiedDiagonal.from_layers(PLUS, MINUS), X[:, :4], np.ones(3))
