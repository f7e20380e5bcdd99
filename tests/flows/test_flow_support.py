"""Shares of the gradient at accuracies whose round-off exceeds the gaps between margins."""

import numpy as np
import pytest

import tacit

FAR = [1e3, 1e10, 1e15, 1e16, 1e17, 1e18, 1e20]
TWO = np.array([[1, 1.5, -0.5], [1.1, -0.1, 0.1], [-0.5, 1.5, 0.6]])
ALL = np.array([[0.56, 1.43, 0.41], [1.12, 1.01, -0.86], [0.34, -0.57, 1.46]])


@pytest.mark.parametrize("loss", ["exp", "logistic"])
@pytest.mark.parametrize(("depth", "scale"), [(2, 1.0), (2, 10.0), (3, 1.0)])
def test_shares_far_out_are_those_of_equal_margins(loss, depth, scale):
    """Margins of support vectors, here samples 1 and 2, grow at the same rate: Z diag(dw/ds) Zᵀq is the same
    for them.

    For large |w|, dw/ds is |w|^{2−2/D} up to a factor. The path of Q margins determines which sample has no
    share in the gradient.
    """
    run = tacit.flow(tacit.Diagonal(depth, scale), TWO, np.ones(3), loss=loss, at=FAR)
    assert run.converged
    w = np.abs(run.predictor) ** (2 - 2 / depth)
    for shares, metric in zip(run.shares[2:], w[2:], strict=True):
        K = (TWO[1:] * metric) @ TWO[1:].T
        q = np.linalg.solve(K, np.ones(2))
        np.testing.assert_allclose(shares, np.append(0, q / q.sum()), atol=5e-3)
    path = tacit.margin_path(TWO, np.ones(3), scale**depth / np.array(FAR), depth=depth)
    np.testing.assert_array_equal(run.support[1:], path.support[1:])
    np.testing.assert_allclose(run.shares.sum(axis=1), 1, rtol=1e-9)


def test_all_three_samples_stay_in_the_support():
    run = tacit.flow(tacit.Diagonal(2, 1.0), ALL, np.ones(3), loss="exp", at=FAR)
    assert run.support.all()
    np.testing.assert_allclose(run.shares[1:], run.shares[1:2].repeat(6, axis=0), atol=1e-3)


def test_shares_of_linearized_flows_far_out():
    """m' = K q is the same for all samples that contribute to the gradient."""
    run = tacit.flow(tacit.Diagonal(2, 1.0), TWO, np.ones(3), loss="exp", at=FAR, linearized=True)
    K = TWO[1:] @ TWO[1:].T
    q = np.linalg.solve(K, np.ones(2))
    np.testing.assert_allclose(run.shares[-1], np.append(0, q / q.sum()), atol=1e-3)


def test_shares_are_the_slopes_of_the_loss_where_these_can_be_told():
    for loss in ("exp", "logistic"):
        run = tacit.flow(tacit.Diagonal(2, 1.0), ALL, np.ones(3), loss=loss, until=100.0)
        m = run.margins
        slopes = -m if loss == "exp" else -np.logaddexp(0, m)
        pulls = np.exp(slopes - slopes.max(axis=1, keepdims=True))
        np.testing.assert_allclose(run.shares, pulls / pulls.sum(axis=1, keepdims=True), atol=1e-6)
