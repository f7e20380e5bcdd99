"""Frames and divided differences, compared with multiple precision and definitions."""

import mpmath as mp
import numpy as np
import pytest

from tacit.numerics.spectra import Frame, divided

PAIRS = [
    (1.0, 1.0),
    (1.0, 1.0 + 1e-13),
    (1.0, 1.001),
    (1.0, 1.5),
    (30.0, -30.0),
    (1e-9, -1e-9),
    (0.0, 0.0),
    (20.0, 0.0),
    (3.0, -2.9),
    (1e-25, 0.0),
]


@pytest.mark.parametrize(
    ("f", "slope", "exact"),
    [
        (np.sinh, np.cosh, mp.sinh),
        (np.exp, np.exp, mp.exp),
        (np.arcsinh, lambda x: 1 / np.hypot(1, x), mp.asinh),
    ],
    ids=["sinh", "exp", "arcsinh"],
)
def test_divided_differences_have_all_their_digits(f, slope, exact):
    a, b = np.array(PAIRS).T
    found = divided(f, slope, a, b)
    with mp.workdps(60):
        for x, y, value in zip(a, b, found, strict=True):
            x, y = mp.mpf(float(x)), mp.mpf(float(y))
            right = mp.diff(exact, x) if x == y else (exact(x) - exact(y)) / (x - y)
            assert abs(value - right) <= 2e-14 * abs(right), (x, y)


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (2, 4), (1, 1), (1, 3)])
def test_coordinates_are_orthonormal_and_lead_back(shape):
    rng = np.random.default_rng(0)
    frame = Frame.of(rng.standard_normal(shape))
    stack = rng.standard_normal((7, *shape))
    found = frame.coordinates(stack)
    np.testing.assert_allclose(found @ found.T, np.einsum("nij,mij->nm", stack, stack), atol=1e-13)
    for one, back in zip(stack, found, strict=True):
        np.testing.assert_allclose(frame.matrix(back), one, atol=1e-14)
    assert found.shape[1] == len(frame.couples[0]) == shape[0] * shape[1]


def test_coordinates_of_symmetric_matrices():
    rng = np.random.default_rng(1)
    A, B = (each + each.T for each in rng.standard_normal((2, 4, 4)))
    frame = Frame.of(A, symmetric=True)
    found = frame.coordinates(B)
    assert len(found) == len(frame.couples[1]) == 10
    np.testing.assert_allclose(found @ found, np.sum(B * B), rtol=1e-13)
    np.testing.assert_allclose(frame.matrix(found), B, atol=1e-14)


@pytest.mark.parametrize("symmetric", [True, False])
def test_the_derivative_of_a_function_of_the_spectrum_is_diagonal(symmetric):
    """sinh(A + hB) by series in h of matrix products."""
    rng = np.random.default_rng(2)
    A, B = rng.standard_normal((2, 3, 3))
    A, B = (A + A.T, B + B.T) if symmetric else (A, B)

    def lift(Z):
        return Z if symmetric else np.block([[np.zeros((3, 3)), Z], [Z.T, np.zeros((3, 3))]])

    total, power, change = 0.0, np.eye(len(lift(A))), 0 * lift(A)
    for k in range(1, 60):  # the derivative of Aᵏ/k!, for odd k those of sinh
        power, change = power @ lift(A) / k, (change @ lift(A) + power @ lift(B)) / k
        total = total + (change if k % 2 else 0.0)
    right = total if symmetric else total[:3, 3:]
    frame = Frame.of(A, symmetric)
    found = frame.matrix(divided(np.sinh, np.cosh, *frame.couples) * frame.coordinates(B))
    np.testing.assert_allclose(found, right, rtol=1e-11, atol=1e-11 * np.abs(right).max())
