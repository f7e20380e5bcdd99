r"""One product of layers along gradient flow: its size against how long and how hard it was pulled.

A block β = a₁⋯a_L that is pulled by s, ȧⱼ = ṡ·∂β/∂aⱼ, keeps all aⱼ² − aᵢ². With x the layer of least size,
its sign that of the whole product, and μⱼ² = aⱼ² − x² of the n = L − 1 others,

    β = x·∏√(x² + μⱼ²),    dx/ds = ∏√(x² + μⱼ²),    s = F(x) − F(x₀),    F(z) = ∫₀^z dx/∏√(x² + μⱼ²).

For L = 3 and 4 this is an elliptic integral, beyond it none with a name. In v with x = μ₁·sinh v, μ₁ the
least of the μ (x = e^v where that is 0: where several layers tie as the least x never crosses 0),

    dF/dv = 1/∏_{j>1} √(x² + μⱼ²)

is analytic for |Im v| < π/2 whatever the layers are, so that Gauss's rule on panels of length 2 is exact to
rounding. Since ∫β dF = x²/2, the potential needs no further integral.

All numbers are in one unit for each coordinate. Under- and overflow are answers here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float, Index

_PANEL = 2.0  # the longest, at which 16 nodes leave 3.4^{-32} of an integrand that is analytic in the strip
_RULES = tuple(  # lengths up to which so many nodes do as well
    (length, np.polynomial.legendre.leggauss(nodes))
    for length, nodes in ((0.02, 3), (0.08, 4), (0.25, 6), (1.0, 10), (_PANEL, 16))
)
_SHORT, _FLAT = 0.5, 8  # ways and numbers of layers for which an integral in x will do
_STEPS = 60  # of Newton's method, at most; a handful is the rule
_SQUARED = 1e-8  # relative size of a step after which the next one would be rounding
_CUBED = 1e-5  # the same of a method of third order
_TINY = 1e-300
_FARTHEST = 700.0  # v beyond which floats cannot hold x, and where only rounding of F near its end leads
_LITTLE = 1e-3  # change of v up to which it is a division
_STRIDE = 0.1  # change of v up to which all is nearly linear


def integral(f: Callable[[Float], Float], a: Float, span: Float) -> Float:
    """∫ f from a to a + span, for f that are analytic within π/2 of the real line."""
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
    """x₀ ≥ 0 and the μ (n, …), least first, in the unit of each coordinate; side: ±1 where ±β grows with s.

    t = v − v₀ says where a block is: with it, small changes of large weights keep all their digits. A block
    that two zero layers keep at 0 for good has alive = 0.
    """

    least: Float
    mu: Float
    side: Float
    alive: Float

    @classmethod
    def of(cls, layers: Float, sign: int) -> Block:
        """The block sign·∏ layers, given as (L, …) in units of each coordinate."""
        sizes = np.sort(np.abs(layers), axis=0)
        least, others = sizes[0], sizes[1:]
        mu = np.sqrt((others - least) * (others + least))
        side = sign * np.where(layers < 0, -1.0, 1.0).prod(axis=0)
        dead = (least == 0) & (mu[0] == 0)
        return cls(np.where(dead, 1.0, least), np.where(dead, 1.0, mu), side, np.where(dead, 0.0, 1.0))

    def among(self, chosen: Index, count: int) -> Block:
        """Of these of all coordinates only."""
        if self.least.shape[-1] != count:
            return self
        return Block(*(each[..., chosen] for each in (self.least, self.mu, self.side, self.alive)))

    @cached_property
    def one_sided(self) -> NDArray[np.bool_]:
        """Where x never crosses 0."""
        return np.asarray(self.mu[0] == 0)

    @cached_property
    def v0(self) -> Float:
        """v at the start."""
        first = np.where(self.one_sided, 1.0, self.mu[0])
        return np.where(
            self.one_sided, np.log(np.where(self.least > 0, self.least, 1.0)), np.arcsinh(self.least / first)
        )

    @cached_property
    def _mixed(self) -> bool:
        return bool(self.one_sided.any())

    def x(self, v: Float) -> Float:
        """The least layer at v."""
        x = self.mu[0] * np.sinh(v)
        return np.where(self.one_sided, np.exp(v), x) if self._mixed else x

    def v(self, x: Float) -> Float:
        """v at which the least layer is x."""
        if not self._mixed:
            found: Float = np.arcsinh(x / self.mu[0])
            return found
        first = np.where(self.one_sided, 1.0, self.mu[0])
        return np.where(self.one_sided, np.log(np.where(self.one_sided, x, 1.0)), np.arcsinh(x / first))

    @cached_property
    def _squares(self) -> Float:
        return self.mu**2

    def _square(self, v: Float) -> Float:
        """x², to the rounding of μ₁²."""
        grown = np.exp(v)
        if self._mixed:
            return np.where(self.one_sided, grown, self.mu[0] / 2 * (grown - 1 / grown)) ** 2
        found: Float = (self.mu[0] / 2 * (grown - 1 / grown)) ** 2
        return found

    def rate(self, v: Float) -> Float:
        """dF/dv."""
        square = self._square(v)
        product = np.sqrt(square + self._squares[1])
        for mu in self._squares[2:]:
            product *= np.sqrt(square + mu)
        found: Float = 1 / product
        return found

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
        """dβ/dF at t; 0 of a dead block."""
        return self.alive * np.exp(self.log_gain(t))

    def slope(self, t: Float, since: Float | float = 0.0) -> Float:
        """F at t less F at another t, or at the start."""
        return integral(self.rate, self.v0 + since, t - since)

    def _shift(self, t: Float, since: Float | None = None) -> Float:
        """x less what it was before v changed by t: x₀, or x at another v."""
        v = self.v0 if since is None else since
        shift = 2 * self.mu[0] * np.cosh(v + t / 2) * np.sinh(t / 2)
        if not self._mixed:
            found: Float = shift
            return found
        before = self.least if since is None else np.exp(np.where(self.one_sided, v, 0.0))
        return np.where(self.one_sided, before * np.expm1(t), shift)

    def square(self, t: Float) -> Float:
        """x² less x₀², twice the convex conjugate of the potential; 0 of a dead block."""
        shift = self._shift(t)
        return self.alive * shift * (2 * self.least + shift)

    def rise(self, t: Float) -> Float:
        """β at t less β at the start, with all digits however little it has moved; 0 of a dead block.

        Layer by layer: x₀ ≥ 0, so that no two large terms cancel.
        """
        rise, product = self._shift(t), self.least
        x, squares = self.least + rise, rise * (2 * self.least + rise)
        for mu in self._squares:
            before, after = np.sqrt(self.least**2 + mu), np.sqrt(x**2 + mu)
            rise = rise * after + product * (squares / (before + after))
            product = product * before
        return self.alive * rise

    def climb(self, t: Float) -> Float:
        """dβ/dt."""
        square = self._square(self.v0 + t)
        first = square + self._squares[0]
        product, share = first, 1 + square / first
        for mu in self._squares[1:]:
            other = square + mu
            product, share = product * np.sqrt(other), share + square / other
        found: Float = product * share
        return found

    def tail(self, v: Float) -> Float:
        """F(∞) − F at v."""
        far = np.maximum(self.x(v), self.mu[-1])
        near = integral(self.rate, v, np.maximum(self.v(far) - v, 0.0))
        nodes, weights = _RULES[-1][1]
        nodes, weights = ((nodes + 1) / 2).reshape(-1, *(1,) * far.ndim), weights / 2  # x = far/node
        power, ratio = len(self.mu) - 2, 1.0
        for mu in self.mu:
            ratio = ratio * np.sqrt(1 + (mu / far * nodes) ** 2)
        found: Float = near + np.tensordot(weights, nodes**power / ratio, 1) * far ** (-1.0 - power)
        return found

    def room(self, t: Float) -> tuple[Float, Float]:
        """How far F can still fall and rise from t."""
        v = self.v0 + t
        rise = self.tail(v)
        if not self._mixed:
            return self.tail(-v), rise
        return np.where(self.one_sided, np.inf, self.tail(np.where(self.one_sided, 0.0, -v))), rise

    def moved(self, t: Float, change: Float, room: tuple[Float, Float] | None = None) -> Float:
        """t after F has changed by so much, which may have more axes in front; NaN beyond its ends.

        Newton's method on log(fall/rise), of the distances to both ends, which is linear in v in both tails.
        """
        change = np.where(self.alive > 0, change, 0.0) + np.zeros_like(t)
        fall, rise = self.room(t) if room is None else room
        inside, way = (-fall < change) & (change < rise), np.zeros_like(change)
        change = np.where(inside, change, 0.0)
        done, low, high = np.zeros_like(change), np.full_like(change, -np.inf), np.full_like(change, np.inf)
        for _ in range(_STEPS):  # Halley's method: what is left after a step is its cube
            below, above, short = fall + done, rise - done, change - done
            pace, bend = self._pace(self.v0 + t + way)
            near, far = 1 / above, 1 / below
            share = short * near
            plain = np.log1p((short * far + share) / (1 - share)) / (pace * (far + near))
            bend = 1 + plain * (bend + pace * (near - far)) / 2
            step = plain / np.clip(bend, 0.5, 2.0)
            low, high = np.where(short > 0, way, low), np.where(short < 0, way, high)
            ahead = way + step
            wild = ~((low <= ahead) & (ahead <= high))  # beyond what has been seen, or not a number
            if wild.any():
                bounded = np.isfinite(low) & np.isfinite(high)
                ahead = np.where(wild, np.where(bounded, (low + high) / 2, way + np.sign(short)), ahead)
            ahead = np.clip(ahead, -_FARTHEST - self.v0 - t, _FARTHEST - self.v0 - t)
            step, way = ahead - way, ahead
            if not (np.abs(step) > _CUBED * np.abs(way)).any():
                break
            done = self._passed(self.v0 + t, way)
        return np.where(inside, t + way, np.nan)

    def _passed(self, v: Float, way: Float) -> Float:
        """How much F changes as v moves so far: for short ways in x itself, without exponentials."""
        widest = float(np.abs(way).max(initial=0.0))
        if not widest <= _SHORT or len(self.mu) > _FLAT:
            return integral(self.rate, v, way)
        nodes, weights = _RULES[2 if widest <= _SHORT / 4 else 3][1]
        half, total = self._shift(way, v) / 2, np.zeros_like(way)
        middle = self.x(v) + half
        for node, weight in zip(nodes, weights, strict=True):
            square, product = (middle + node * half) ** 2, 1.0
            for mu in self._squares:
                product = product * (square + mu)
            total += weight / np.sqrt(product)
        return half * total

    def _pace(self, v: Float) -> tuple[Float, Float]:
        """dF/dv, and the derivative of its logarithm."""
        grown = np.exp(v)
        if self._mixed:
            twice = np.where(self.one_sided, 2 * grown, self.mu[0] * (grown - 1 / grown))
            slope = np.where(self.one_sided, 2 * grown, self.mu[0] * (grown + 1 / grown))
        else:
            twice, slope = self.mu[0] * (grown - 1 / grown), self.mu[0] * (grown + 1 / grown)
        square, both = twice**2 / 4, twice * slope / 4
        product, bend = np.ones_like(square), np.zeros_like(square)
        for mu in self._squares[1:]:
            other = square + mu
            product, bend = product * np.sqrt(other), bend - both / other
        return 1 / product, bend

    def risen(self, rise: Float) -> Float:
        """t at which β exceeds that of the start by so much: no integral where that is not little.

        log β is convex and increasing in log x, and Newton's method comes down to x from a bound.
        """
        goal = self.product(self.v0) + rise
        if self._mixed:
            goal = np.where(self.one_sided, np.maximum(goal, _TINY), goal)
        size = np.log(np.abs(goal))
        positive = self.mu > 0
        logs = np.log(np.where(positive, self.mu, 1.0))
        within = np.where(positive.all(axis=0), size - logs.sum(axis=0), np.inf)
        log_x = np.minimum(size / (len(self.mu) + 1), within)
        for _ in range(_STEPS):
            log_x = np.where(np.isfinite(size), log_x, 0.0)
            square, value, growth = np.exp(2 * log_x), log_x, np.ones_like(log_x)
            for mu in self.mu:
                other = square + mu**2
                value, growth = value + np.log(other) / 2, growth + square / other
            step = np.where(np.isfinite(size), (value - size) / growth, 0.0)
            log_x = log_x - step
            if (np.abs(step) <= _SQUARED).all():
                break
        t = self.v(np.where(np.isfinite(size), np.sign(goal) * np.exp(log_x), goal)) - self.v0
        still = self.climb(np.zeros_like(t))
        t = np.where(np.abs(rise) < _LITTLE * still, rise / still, t)
        for _ in range(3):  # the digits that the start has taken
            t = t + np.where(np.abs(t) < 1, (rise - self.rise(t)) / self.climb(t), 0.0)
        return t

    def stepped(self, t: Float, change: Float) -> Float:
        """t after F was asked to change by so much, where Newton's method asks: no step overshoots.

        A product that grows moves linearly in β, one that shrinks linearly in F, and through 0 on in β.
        """
        change = self.alive * change
        plain = change / self.rate(self.v0 + t)
        far = np.flatnonzero(~(np.abs(plain) <= _STRIDE))
        after = t + plain
        if len(far):
            after[far] = self.among(far, len(t))._strode(t[far], change[far])
        return after

    def _strode(self, t: Float, change: Float) -> Float:
        """The same for large changes."""
        v = self.v0 + t
        x = self.x(v)
        to_zero = np.abs(integral(self.rate, np.zeros_like(v), np.where(self.one_sided, 0.0, v)))
        grows = x * change >= 0
        across = ~grows & ~self.one_sided & (np.abs(change) >= to_zero)
        rest = change + np.sign(x) * to_zero
        through = self._squares.prod(axis=0) * rest - self.product(self.v0)
        goal = np.where(grows, self.rise(t) + np.exp(self.log_gain(t)) * change, through)
        grown = self.risen(np.where(grows | across, goal, 0.0))
        shrunk = self.moved(t, np.where(grows | across, 0.0, change))
        return np.where(grows | across, grown, shrunk)
