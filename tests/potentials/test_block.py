"""Products of layers along their flow, compared with high-precision quadrature and the flow of the layers."""

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from tacit.potentials.arrays import quiet
from tacit.potentials.block import Block

STARTS = {  # layers in units of the largest
    "apart": [0.3, 0.7, 1.0],
    "four": [0.05, 0.3, 0.7, 1.0],
    "six": [0.2, 0.3, 0.3, 0.5, 0.9, 1.0],
    "nearly equal": [1 - 3e-9, 1 - 1e-9, 1.0],
    "a hundred million apart": [1e-8, 1e-4, 1.0],
    "tied": [0.4, 0.4, 1.0],
    "equal": [1.0, 1.0, 1.0, 1.0],
    "one zero": [0.0, 0.5, 1.0],
}


def exact(layers, t):
    """Changes of F and β from initialization to t, and F(∞) − F(t), by quadrature over v in 30 digits."""
    with mp.workdps(30):
        sizes = [mp.mpf(a) for a in layers]
        first, mu = sizes[0], [mp.sqrt(a * a - sizes[0] ** 2) for a in sizes[1:]]
        v0 = mp.log(first) if mu[0] == 0 else mp.asinh(first / mu[0])

        def x(v):
            return mp.exp(v) if mu[0] == 0 else mu[0] * mp.sinh(v)

        def rate(v):
            return 1 / mp.fprod(mp.sqrt(x(v) ** 2 + m * m) for m in mu[1:])

        def product(v):
            return x(v) * mp.fprod(mp.sqrt(x(v) ** 2 + m * m) for m in mu)

        end = v0 + mp.mpf(t)
        knee = max([end] + [mp.log(2 * m / (mu[0] or 1)) for m in mu if m > 0]) + 1
        steps = [end + k * (knee - end) / 6 for k in range(7)]
        rest = mp.quad(rate, [*steps, knee + 12, knee + 40, knee + 90])
        slope = mp.quad(rate, mp.linspace(v0, end, 4))
        return float(slope), float(product(end) - product(v0)), float(rest)


@pytest.mark.every(2)
@quiet
@pytest.mark.parametrize("name", STARTS)
def test_slopes_and_products_have_all_their_digits(name):
    """Measured: at most 6e-15, also for relative changes of 1e-9; allowed: 1e-13."""
    block = Block.of(np.array(STARTS[name])[:, None], 1)
    for t in (1e-9, -0.3, 2.5):
        slope, rise, rest = exact(STARTS[name], t)
        at = np.array([t])
        assert block.slope(at) == pytest.approx([slope], rel=1e-13)
        assert block.rise(at) == pytest.approx([rise], rel=1e-13)
        assert block.tail(block.v0 + at) == pytest.approx([rest], rel=1e-13)


@quiet
@pytest.mark.parametrize("name", STARTS)
def test_inverses_invert(name):
    """`moved` and `t_at_rise` invert `slope` and `rise` to round-off; NaN beyond the end of the slopes."""
    block = Block.of(np.array(STARTS[name])[:, None], 1)
    t = np.array([1e-12, -1e-6, 0.3, -0.7, 1.9, -4.0, 6.0])
    slope, rise = block.slope(t), block.rise(t)
    np.testing.assert_allclose(block.slope(block.moved(np.zeros_like(t), slope)), slope, rtol=1e-13)
    np.testing.assert_allclose(block.rise(block.t_at_rise(rise)), rise, rtol=1e-13)
    np.testing.assert_allclose(block.moved(np.zeros(3), slope[:3]), t[:3], rtol=1e-13)
    np.testing.assert_allclose(block.t_at_rise(rise)[:3], t[:3], rtol=1e-13)
    end = block.distance_to_ends(np.zeros(1))[1]
    assert np.isnan(block.moved(np.zeros(1), 1.001 * end)).all()
    assert block.moved(np.zeros(1), (1 - 1e-6) * end) > 1


@quiet
@pytest.mark.parametrize("start", [(0.3, -0.7, 1.0), (-0.2, 0.5, 0.6, 1.0), (0.4, -0.4, 1.0)])
def test_position_after_a_change_of_slope(start):
    """Compared with the differential equation of the layers, in both directions, also through zero."""
    layers = np.array(start)
    block = Block.of(layers[:, None], 1)
    fall, rise = block.distance_to_ends(np.zeros(1))
    for change in (0.9 * rise[0], -min(0.9 * fall[0], 5.0)):
        dual = float(block.side[0] * change)

        def rates(_, a):
            return np.array([np.prod(np.delete(a, j)) for j in range(len(a))])

        moved = solve_ivp(rates, (0, dual), layers, method="DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
        found = block.rise(block.moved(np.zeros(1), np.array([change])))
        expected = block.side[0] * (np.prod(moved) - np.prod(layers))
        assert found[0] == pytest.approx(expected, rel=1e-9, abs=1e-11)


@quiet
def test_two_zero_layers_stay_where_they_are():
    block = Block.of(np.array([[0.0], [0.0], [1.0]]), 1)
    assert block.alive == 0 and block.rise(np.array([3.0])) == 0 and block.gain(np.array([3.0])) == 0
