r"""One product of layers ("block") along gradient flow, as a function of its dual variable s.

Under ȧⱼ = ṡ·∂β/∂aⱼ a block β = a₁⋯a_L conserves all aⱼ² − aᵢ². Let x be the layer of smallest size, with the
sign of the whole product, and μⱼ² = aⱼ² − x² for the n = L − 1 others. Then

    β = x·∏√(x² + μⱼ²),    dx/ds = ∏√(x² + μⱼ²),    s = F(x) − F(x₀),    F(z) = ∫₀^z dx/∏√(x² + μⱼ²).

For L = 3 and 4 this is an elliptic integral; for larger L it has no standard name. Substitute x = μ₁·sinh v
with μ₁ the smallest μ (x = e^v if μ₁ = 0: if the smallest layers are tied, x never crosses 0). Then

    dF/dv = 1/∏_{j>1} √(x² + μⱼ²)

is analytic for |Im v| < π/2 for all layers, so Gauss-Legendre quadrature on panels of length 2 is exact to
round-off; in x the integrand has singularities at ±iμⱼ, arbitrarily close to the real line. Since ∫β dF =
x²/2, the potential needs no further integral.

Each coordinate has its own unit of length. Overflow and underflow are expected and give correct limits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float
from tacit.numerics.rounding import TINY

# Longest quadrature panel in v: with 16 nodes the relative error is 3.4^{-32} for integrands analytic in the
# strip |Im v| < π/2.
_PANEL = 2.0
_RULES = tuple(  # (panel length, Gauss rule): shorter panels need fewer nodes for the same accuracy
    (length, np.polynomial.legendre.leggauss(nodes))
    for length, nodes in ((0.02, 3), (0.08, 4), (0.25, 6), (1.0, 10), (_PANEL, 16))
)
_MAX_STEPS = 60  # Newton or Halley steps; usually a handful is enough
_NEWTON_TOL = 1e-8  # relative step after which the next step (quadratic convergence) is round-off
_HALLEY_TOL = 1e-5  # the same for a method of third order
_MAX_V = 700.0  # |v| at which sinh v overflows; only round-off of F near its end leads there
_LINEAR_CHANGE = 1e-3  # change of v up to which t = rise/β' is a good enough start of Newton's method
_NEARLY_LINEAR = 0.1  # change of v up to which a plain Newton step in v cannot overshoot much


def integral(f: Callable[[Float], Float], a: Float, span: Float) -> Float:
    """∫ f from a to a + span, for f analytic in the strip |Im v| < π/2."""
    widest = float(np.max(np.abs(span), initial=0.0, where=np.isfinite(span)))
    panels = max(1, int(np.ceil(widest / _PANEL)))
    nodes, weights = next((rule for length, rule in _RULES if widest / panels <= length), _RULES[-1][1])
    shape = np.broadcast_shapes(np.shape(a), np.shape(span))
    column = nodes.reshape(-1, *(1,) * len(shape))
    half, total = span / (2 * panels), np.zeros(shape)
    for k in range(panels):
        values = f(a + half * (2 * k + 1 + column))
        total += (weights @ values.reshape(len(weights), -1)).reshape(shape)
    return half * total


@dataclass(frozen=True, eq=False)
class Block:
    """One block per coordinate: x₀ ≥ 0 (`least`) and μ (n, …) in increasing order, in the coordinate's unit.

    Leading axes may tell several blocks of a coordinate apart. side is ±1 if ±β grows with s. alive is 0 for
    blocks with two zero layers, which stay at 0 forever, and 1 otherwise. The position along the flow is
    t = v − v₀: unlike v, it keeps all digits of small changes of large weights.
    """

    least: Float
    mu: Float
    side: Float
    alive: Float

    @classmethod
    def of(cls, layers: Float, sign: int | Float) -> Block:
        """The block sign·∏ layers; layers: (L, …), in the unit of each coordinate."""
        sizes = np.sort(np.abs(layers), axis=0)
        least, others = sizes[0], sizes[1:]
        mu = np.sqrt((others - least) * (others + least))
        side = sign * np.where(layers < 0, -1.0, 1.0).prod(axis=0)
        dead = (least == 0) & (mu[0] == 0)
        return cls(np.where(dead, 1.0, least), np.where(dead, 1.0, mu), side, np.where(dead, 0.0, 1.0))

    def __getitem__(self, which: Any) -> Block:
        """Some of the blocks, by an index that begins with an ellipsis."""
        return Block(self.least[which], self.mu[which], self.side[which], self.alive[which])

    def spread(self, shape: tuple[int, ...]) -> Block:
        """The blocks of coordinates that share one."""
        least, side, alive = (np.broadcast_to(each, shape) for each in (self.least, self.side, self.alive))
        return Block(least, np.broadcast_to(self.mu, (len(self.mu), *shape)), side, alive)

    @cached_property
    def one_sided(self) -> NDArray[np.bool_]:
        """Coordinates in which x never crosses 0."""
        return np.asarray(self.mu[0] == 0)

    @cached_property
    def v0(self) -> Float:
        """v at initialization."""
        first = np.where(self.one_sided, 1.0, self.mu[0])
        return np.where(
            self.one_sided, np.log(np.where(self.least > 0, self.least, 1.0)), np.arcsinh(self.least / first)
        )

    def x(self, v: Float) -> Float:
        """The smallest layer x at v."""
        return np.where(self.one_sided, np.exp(v), self.mu[0] * np.sinh(v))

    def v(self, x: Float) -> Float:
        """v at which the smallest layer is x."""
        first = np.where(self.one_sided, 1.0, self.mu[0])
        return np.where(self.one_sided, np.log(np.where(self.one_sided, x, 1.0)), np.arcsinh(x / first))

    @cached_property
    def _squares(self) -> Float:
        return self.mu**2

    def _square(self, v: Float) -> Float:
        """x², with an absolute error of the order of the round-off of μ₁²."""
        grown = np.exp(v)
        return np.asarray(np.where(self.one_sided, grown, self.mu[0] / 2 * (grown - 1 / grown)) ** 2)

    def rate(self, v: Float) -> Float:
        """dF/dv."""
        square = self._square(v)
        product = np.sqrt(square + self._squares[1])
        for mu in self._squares[2:]:
            product *= np.sqrt(square + mu)
        return np.asarray(1 / product)

    def product(self, v: Float) -> Float:
        """β at v."""
        x = self.x(v)
        product = x
        for mu in self.mu:
            product = product * np.sqrt(x**2 + mu**2)
        return product

    def log_gain(self, t: Float) -> Float:
        """log dβ/dF = log Σᵢ ∏_{j≠i} aⱼ² at t."""
        square = self._square(self.v0 + t)
        total, share = np.zeros_like(square), np.ones_like(square)
        for mu in self._squares:
            other = square + mu
            total, share = total + np.log(other), share + square / other
        return total + np.log(share)

    def gain(self, t: Float) -> Float:
        """dβ/dF at t; 0 for a block that stays at 0."""
        return self.alive * np.exp(self.log_gain(t))

    def slope(self, t: Float, since: Float | float = 0.0) -> Float:
        """F(t) − F(since); since = 0 is initialization."""
        return integral(self.rate, self.v0 + since, t - since)

    def _shift(self, t: Float) -> Float:
        """The change of x from v₀ to v₀ + t, without cancellation."""
        across = 2 * self.mu[0] * np.cosh(self.v0 + t / 2) * np.sinh(t / 2)
        return np.where(self.one_sided, self.least * np.expm1(t), across)

    def square(self, t: Float) -> Float:
        """x² − x₀², twice the convex conjugate of the potential; 0 for a block that stays at 0."""
        shift = self._shift(t)
        return self.alive * shift * (2 * self.least + shift)

    def rise(self, t: Float) -> Float:
        """β(t) − β(0) to full relative accuracy, also for tiny changes; 0 for a block that stays at 0.

        The change is accumulated layer by layer; since x₀ ≥ 0, no large terms cancel.
        """
        rise, product = self._shift(t), self.least
        x, squares = self.least + rise, rise * (2 * self.least + rise)
        for mu in self._squares:
            before, after = np.sqrt(self.least**2 + mu), np.sqrt(x**2 + mu)
            rise = rise * after + product * (squares / (before + after))
            product = product * before
        return self.alive * rise

    def rise_rate(self, t: Float) -> Float:
        """dβ/dt."""
        square = self._square(self.v0 + t)
        first = square + self._squares[0]
        product, share = first, 1 + square / first
        for mu in self._squares[1:]:
            other = square + mu
            product, share = product * np.sqrt(other), share + square / other
        return np.asarray(product * share)

    def tail(self, v: Float) -> Float:
        """F(∞) − F at v."""
        far = np.maximum(self.x(v), self.mu[-1])
        near = integral(self.rate, v, np.maximum(self.v(far) - v, 0.0))
        nodes, weights = _RULES[-1][1]
        nodes, weights = ((nodes + 1) / 2).reshape(-1, *(1,) * far.ndim), weights / 2  # x = far/node
        power, ratio = len(self.mu) - 2, 1.0
        for mu in self.mu:
            ratio = ratio * np.sqrt(1 + (mu / far * nodes) ** 2)
        return np.asarray(near + np.tensordot(weights, nodes**power / ratio, 1) * far ** (-1.0 - power))

    def distance_to_ends(self, t: Float) -> tuple[Float, Float]:
        """The distances by which F can still decrease and increase from t."""
        v = self.v0 + t
        rise = self.tail(v)
        return np.where(self.one_sided, np.inf, self.tail(np.where(self.one_sided, 0.0, -v))), rise

    def room(self, ends: tuple[Float, Float]) -> tuple[Float, Float]:
        """How much a slope shared by all blocks along the first axis can change; ∞ if unbounded.

        ends: `distance_to_ends` of the blocks.
        """
        down, up = np.where(self.side > 0, ends, ends[::-1])
        fall, rise = (np.where(self.alive > 0, each, np.inf).min(axis=0) for each in (down, up))
        return fall, rise

    def moved(self, t: Float, change: Float, ends: tuple[Float, Float] | None = None) -> Float:
        """t after F has changed by `change`, which may have leading axes; NaN beyond the ends of F.

        Solves for v by Halley's method applied to log((distance to lower end)/(distance to upper end)), which
        is linear in v in both tails. F itself is flat there, and Newton's method on it would diverge.
        ends: `distance_to_ends(t)`, if known.
        """
        change = np.where(self.alive > 0, change, 0.0) + np.zeros_like(t)
        fall, rise = self.distance_to_ends(t) if ends is None else ends
        inside, moved = (-fall < change) & (change < rise), np.zeros_like(change)
        change = np.where(inside, change, 0.0)
        done, low, high = np.zeros_like(change), np.full_like(change, -np.inf), np.full_like(change, np.inf)
        for _ in range(_MAX_STEPS):
            below, above, missing = fall + done, rise - done, change - done
            rate, log_slope = self._rate_and_log_derivative(self.v0 + t + moved)
            near, far = 1 / above, 1 / below
            share = missing * near
            newton = np.log1p((missing * far + share) / (1 - share)) / (rate * (far + near))
            correction = 1 + newton * (log_slope + rate * (near - far)) / 2
            step = newton / np.clip(correction, 0.5, 2.0)
            low, high = np.where(missing > 0, moved, low), np.where(missing < 0, moved, high)
            ahead = moved + step
            outside = ~((low <= ahead) & (ahead <= high))  # outside the bracket, or NaN: bisect
            if outside.any():
                bounded = np.isfinite(low) & np.isfinite(high)
                ahead = np.where(
                    outside, np.where(bounded, (low + high) / 2, moved + np.sign(missing)), ahead
                )
            ahead = np.clip(ahead, -_MAX_V - self.v0 - t, _MAX_V - self.v0 - t)
            step, moved = ahead - moved, ahead
            if not (np.abs(step) > _HALLEY_TOL * np.abs(moved)).any():
                break
            done = integral(self.rate, self.v0 + t, moved)
        return np.where(inside, t + moved, np.nan)

    def _rate_and_log_derivative(self, v: Float) -> tuple[Float, Float]:
        """dF/dv, and d log(dF/dv)/dv."""
        grown = np.exp(v)
        shrunk = np.where(self.one_sided, 0.0, 1 / grown)
        unit = np.where(self.one_sided, 2.0, self.mu[0])
        twice, slope = unit * (grown - shrunk), unit * (grown + shrunk)
        square, both = twice**2 / 4, twice * slope / 4
        product, log_derivative = np.ones_like(square), np.zeros_like(square)
        for mu in self._squares[1:]:
            other = square + mu
            product, log_derivative = product * np.sqrt(other), log_derivative - both / other
        return 1 / product, log_derivative

    def t_at_rise(self, rise: Float) -> Float:
        """t at which β(t) − β(0) = rise; quadrature is needed for small changes only.

        log β is convex and increasing in log x, so Newton's method started at an upper bound of log x
        decreases monotonically to the solution.
        """
        goal = self.product(self.v0) + rise
        goal = np.where(self.one_sided, np.maximum(goal, TINY), goal)
        size = np.log(np.abs(goal))
        positive = self.mu > 0
        logs = np.log(np.where(positive, self.mu, 1.0))
        within = np.where(positive.all(axis=0), size - logs.sum(axis=0), np.inf)
        log_x = np.minimum(size / (len(self.mu) + 1), within)
        for _ in range(_MAX_STEPS):
            log_x = np.where(np.isfinite(size), log_x, 0.0)
            square, value, growth = np.exp(2 * log_x), log_x, np.ones_like(log_x)
            for mu in self.mu:
                other = square + mu**2
                value, growth = value + np.log(other) / 2, growth + square / other
            step = np.where(np.isfinite(size), (value - size) / growth, 0.0)
            log_x = log_x - step
            if (np.abs(step) <= _NEWTON_TOL).all():
                break
        t = self.v(np.where(np.isfinite(size), np.sign(goal) * np.exp(log_x), goal)) - self.v0
        initial = self.rise_rate(np.zeros_like(t))
        t = np.where(np.abs(rise) < _LINEAR_CHANGE * initial, rise / initial, t)
        for _ in range(3):  # recover the digits of small changes, which cancel in v − v₀
            t = t + np.where(np.abs(t) < 1, (rise - self.rise(t)) / self.rise_rate(t), 0.0)
        return t

    def newton_update(self, t: Float, change: Float) -> Float:
        """t after a step of an outer Newton's method that changes F by `change`, made so as not to overshoot.

        A product that grows moves linearly in β, one that shrinks moves linearly in F; one that passes
        through 0 continues linearly in β. A linear step in F would overshoot exponentially while β grows.
        """
        change = self.alive * change
        plain = change / self.rate(self.v0 + t)
        far = ~(np.abs(plain) <= _NEARLY_LINEAR)
        after = t + plain
        if far.any():
            after[far] = self.spread(t.shape)[..., far]._large_update(t[far], change[far])
        return after

    def _large_update(self, t: Float, change: Float) -> Float:
        """`newton_update` for changes of v that are not small."""
        v = self.v0 + t
        x = self.x(v)
        to_zero = np.abs(integral(self.rate, np.zeros_like(v), np.where(self.one_sided, 0.0, v)))
        grows = x * change >= 0
        across = ~grows & ~self.one_sided & (np.abs(change) >= to_zero)
        rest = change + np.sign(x) * to_zero
        through = self._squares.prod(axis=0) * rest - self.product(self.v0)
        goal = np.where(grows, self.rise(t) + np.exp(self.log_gain(t)) * change, through)
        grown = self.t_at_rise(np.where(grows | across, goal, 0.0))
        shrunk = self.moved(t, np.where(grows | across, 0.0, change))
        return np.where(grows | across, grown, shrunk)
