"""Models, potentials and losses outside Tacit, written as described in CONTRIBUTING."""

from dataclasses import dataclass

import numpy as np

import tacit
from tacit.losses import Loss, SeparatingLoss
from tacit.models import MirrorForm, Model, Parametrization
from tacit.potentials import DiagonalPotential, Potential


@dataclass(frozen=True)
class DifferenceOfSquares(Parametrization):
    """w = a² − b², with derivatives by JAX."""

    def predictor(self, weights):
        return weights["a"] ** 2 - weights["b"] ** 2


@dataclass(frozen=True, eq=False)
class Twins(Model):
    """Two weights for every coordinate, both of which start at 0.1: `tacit.Diagonal(2, 0.1)`."""

    size: float = 0.1
    parametrization = DifferenceOfSquares()

    def start(self, d=None):
        start = np.full(1 if d is None else d, self.size)
        return {"a": start.copy(), "b": start.copy()}

    def potential(self, d=None):
        return ArcSine(2 * np.log(self.size))

    def mirror_form(self, d):
        def lift(u):
            return {"a": self.size * np.exp(u / 2), "b": self.size * np.exp(-u / 2)}

        log_scale = np.full(d, 2 * np.log(self.size))
        return MirrorForm(np.inf, log_scale, np.ones(d), np.zeros(d), np.log(4.0), lift)


@dataclass(frozen=True, eq=False)
class Bare(Model):
    """The same model with only a parametrization and a start."""

    parametrization = DifferenceOfSquares()

    def start(self, d=None):
        return Twins().start(d)


@dataclass(frozen=True, eq=False)
class ArcSine(DiagonalPotential):
    """The potential of a diagonal network of depth 2, defined by its three parameters."""

    log_scale: float
    weight: float = 1.0
    power = np.inf


@dataclass(frozen=True, eq=False)
class Cosh(Potential):
    """Q(w) = Σ cosh(wᵢ) − 1."""

    def value(self, w):
        return np.sum(np.cosh(w) - 1)

    def gradient(self, w):
        return np.sinh(w)

    def mirror(self, z):
        return np.arcsinh(z)

    def hessian(self, w):
        return np.cosh(w)


@dataclass(frozen=True, eq=False)
class Coupled(Potential):
    """Q(w) = ½‖w‖² + ¼(c·w)⁴, whose Hessian is a matrix."""

    direction: tuple = (1.0, -2.0, 0.5)

    def _along(self, w):
        c = np.resize(self.direction, np.shape(w))
        return c, c @ w

    def value(self, w):
        return w @ w / 2 + self._along(w)[1] ** 4 / 4

    def gradient(self, w):
        c, t = self._along(w)
        return w + t**3 * c

    def mirror(self, z):
        c, t = self._along(z)  # c·z = t + |c|²t³, a cubic with one real root
        square = c @ c
        for _ in range(100):
            t = t - (t + square * t**3 - c @ z) / (1 + 3 * square * t**2)
        return z - t**3 * c

    def hessian(self, w):
        c, t = self._along(w)
        return np.eye(len(c)) + 3 * t**2 * np.outer(c, c)


@dataclass(frozen=True)
class Tempered(SeparatingLoss):
    """L = mean of exp(−m/2)."""

    name = "tempered exponential loss"

    def log_terms(self, margins):
        return -margins / 2

    def log_slope(self, margins):
        return -margins / 2 - np.log(2)

    def slope_rate(self, margins):
        return margins * 0 + 0.5


@dataclass(frozen=True)
class Quartic(Loss):
    """L = mean of r²/2 + r⁴/4, r = f − y."""

    name = "quartic loss"

    def accuracy(self, outputs, y):
        from array_api_compat import array_namespace

        xp, r = array_namespace(outputs), outputs - y
        return -xp.log(xp.mean(r**2 / 2 + r**4 / 4, axis=-1))

    def pull(self, outputs, y):
        r = outputs - y
        return -(r + r**3) / y.shape[0]


def twins(features):
    """A function that returns a model, for the command line."""
    return Twins()


def squares(theta):
    """A plain function of the parameters."""
    half = len(theta) // 2
    return theta[:half] ** 2 - theta[half:] ** 2


def tanh_layers(params, X):
    """A network, for JAX."""
    from tacit.autodiff import jnp

    return jnp.tanh(X @ params["W"]) @ params["v"]


def network(features):
    """The network with weights."""
    rng = np.random.default_rng(0)
    return tacit.Network(tanh_layers, {"W": rng.standard_normal((features, 5)), "v": rng.standard_normal(5)})


def function_model(features):
    """The plain function as a model."""
    return tacit.model(squares, np.full(2 * features, 0.1))
