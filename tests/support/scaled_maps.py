"""A hundred parametrizations with verdicts derived by hand, for starts θ₀ of every size.

Each consists of a map, a direction of θ₀, and the verdict at generic starts, by one of these arguments:

separable   each wᵢ has its own parameters, so that the gradient fields commute: mirror
invertible  w = f(θ) entry by entry: M is diagonal with Mᵢᵢ a function of wᵢ: mirror; also for Aw + b
shifted     a neuron (a + θ₁)(c + v), a shared weight or a Hopf map, moved by constants: warped, as at 0
curve d = 1: every metric is a Hessian: mirror reach       flows reach more dimensions than w has, and M
changes in directions in which w does not: none tensors     p = d, J square: the equations of the metric fail
(in two dimensions by a curl): none"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from maps import TIED, convolved, neuron, normalized, shared, sums_of_squares, two_neurons, untied

_rng = np.random.default_rng(29)


def _start(p):
    return _rng.uniform(0.4, 1.3, p) * np.where(_rng.random(p) < 0.3, -1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Scaled:
    """A map, the direction of its starts, and the verdict."""

    name: str
    function: object
    start: np.ndarray
    kind: str


def _shifted(function, shift):
    shift = jnp.asarray(shift)
    return lambda theta: function(theta + shift)


def _mixed(function, matrix, offset=0.0):
    matrix, offset = jnp.asarray(matrix), jnp.asarray(offset)
    return lambda theta: matrix @ function(theta) + offset


def _folded(power, size):
    """wᵢ = θᵢ + size·θ_{3−i}^power: by SymPy the curl of v is 0 for the power 3, and not for 2 and 4."""
    return lambda theta: theta + size * theta[::-1] ** power


def _softmax(theta):
    e = jnp.exp(theta)
    return e / e.sum()


def _separable():
    inner = {
        "squares": lambda t: t[:3] ** 2 - t[3:] ** 2,
        "cubes": lambda t: t[:3] ** 3 + t[3:],
        "square and line": lambda t: t[:3] ** 2 + t[3:],
        "products": lambda t: t[:3] * t[3:],
        "products and a line": lambda t: t[:3] * t[3:] + t[:3],
        "offset products": lambda t: (1 + t[:3]) * (2 - t[3:]),
        "sines": lambda t: jnp.sin(t[:3]) * t[3:],
        "exponentials": lambda t: jnp.exp(t[:3]) - jnp.exp(-t[3:]),
        "quartic and product": lambda t: t[:3] ** 4 + t[:3] * t[3:],
        "hyperbolic": lambda t: jnp.tanh(t[:3]) + t[3:] ** 2,
        "fractions": lambda t: t[:3] / (1 + t[3:] ** 2),
        "wide range": lambda t: 1e-3 * t[:3] * t[3:] + t[:3] + 40 * t[3:] ** 2,
    }
    for name, function in inner.items():
        yield f"separable: {name}", function, 6, "mirror"
        yield f"separable, mixed: {name}", _mixed(function, _rng.standard_normal((3, 3))), 6, "mirror"


def _invertible():
    one = {
        "linear": lambda t: t,
        "affine": lambda t: 3 * t - 2,
        "sinh": jnp.sinh,
        "t + t³": lambda t: t + t**3,
        "t + t⁵": lambda t: t + t**5,
        "atan": jnp.arctan,
        "exp": jnp.exp,
        "softplus": lambda t: jnp.log1p(jnp.exp(t)),
        "1/(2 + t²)": lambda t: t / (2 + t**2),
        "square": lambda t: t**2,
        "t² + t⁴": lambda t: t**2 + t**4,
    }
    for name, function in one.items():
        yield f"entry by entry: {name}", function, 3, "mirror"
        tall = _rng.standard_normal((5, 3))
        yield f"entry by entry, tall: {name}", _mixed(function, tall, _rng.standard_normal(5)), 3, "mirror"


def _warped():
    yield "neuron", neuron, 4, "warped"
    yield "shared weight", shared, 3, "warped"
    yield "weight normalization", normalized, 4, "warped"
    yield "Hopf map", sums_of_squares, 4, "warped"
    yield "softmax", _softmax, 3, "warped"
    yield "softmax without its last", lambda t: _softmax(t)[:2], 3, "warped"
    for at in range(12):
        p = 3 + at % 3
        shift = np.concatenate([[_rng.uniform(0.5, 2)], _rng.standard_normal(p - 1) * (at % 2)])
        yield f"shifted neuron {at}", _shifted(neuron, shift), p, "warped"
    for at in range(3):
        yield f"shifted shared weight {at}", _shifted(shared, _rng.uniform(0.5, 1.5, 3)), 3, "warped"
        yield f"shifted Hopf map {at}", _shifted(sums_of_squares, _rng.standard_normal(4)), 4, "warped"
        tall = _rng.standard_normal((4, 2))
        yield f"tall neuron {at}", _mixed(_shifted(shared, [1.0, -0.5, 2.0]), tall), 3, "warped"
        factor = 10.0 ** (at - 1)
        yield f"scaled neuron {at}", (lambda c: lambda t: (1 + c * t[0]) * t[1:])(factor), 4, "warped"


def _none():
    for power in (2, 3, 4):
        for size in (1.0, 0.1):
            kind = "warped" if power == 3 else "none"
            yield f"folded, power {power}, size {size}", _folded(power, size), 2, kind
    yield "two neurons", two_neurons, 8, "none"
    yield "convolution", convolved, 4, "none"
    yield "curved line", lambda t: jnp.array([t[0], t[0] ** 2, t[1]]), 2, "none"
    yield "curved sphere", lambda t: jnp.array([jnp.sin(t[0]), jnp.cos(t[0]), t[1]]), 2, "none"
    for at in range(8):
        yield f"shifted two neurons {at}", _shifted(two_neurons, _rng.standard_normal(6)), 6, "none"
        yield f"shifted convolution {at}", _shifted(convolved, _rng.standard_normal(4)), 4, "none"


def _plane():
    yield "plane: product", lambda t: t[:1] * t[1:2], 2, "mirror"
    yield "plane: three layers", lambda t: t[:1] * t[1:2] * (1 + t[2:]), 3, "mirror"
    yield "plane: sum of powers", lambda t: t[:1] ** 2 + t[1:2] ** 3 + t[2:], 3, "mirror"
    yield "tied, depth 3", TIED[3], 6, "mirror"
    yield "untied", untied, 8, "mirror"
    yield "untied, shifted", _shifted(untied, _rng.standard_normal(8)), 8, "mirror"


MAPS = [
    Scaled(name, function, _start(p), kind)
    for family in (_separable, _invertible, _warped, _none, _plane)
    for name, function, p, kind in family()
]
SCALES = 10.0 ** np.array([-10, -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6])
