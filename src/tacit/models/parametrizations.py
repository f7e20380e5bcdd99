r"""Parametrizations: maps from weights θ to predictors w. They hold no weights themselves.

`predictor` and `outputs` work on NumPy and JAX arrays alike; derivatives are written out for NumPy.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.models.reduction import Reduction, reduced_layers, reduced_neuron
from tacit.models.reduction import Weights as Weights
from tacit.potentials.arrays import array_namespace

Invariants = dict[str, tuple[Float, Float]]
Blocks = dict[tuple[str, str], Float]  # blocks of a symmetric matrix, by the names of two weights
SIDES = ("₊", "₋")  # of a diagonal network: the products that are added and subtracted
_DIGITS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_KINK = 1e-9  # width over which the kink of a leaky neuron is smoothed, relative to its largest input


class Parametrization:
    r"""Base class of parametrizations; weights are a dict of arrays.

    A subclass must implement one method, with functions that JAX can differentiate:

        predictor(weights)        w

    The other methods have defaults, `outputs` for f(x) = w·x, the others by differentiation with JAX:

        outputs(weights, X)       f(x₁), …, f(x_N)
        pull(weights, X, r)       the pullback Jᵀr, with J = ∂(outputs)/∂(weights)
        push(weights, X, r)       (∂w/∂θ) Jᵀ r, the derivative of the predictor in that direction
        jacobian(weights, X)      J, with the columns of all weights side by side in their order
        curvature(weights, X, r)  Σ rₙ∇²fₙ, the derivative of Jᵀr at constant r
        kernel(weights, X)        J Jᵀ, the tangent kernel
        invariants(weights)       conserved quantities of gradient flow by name, with the sizes of their terms

    linear: whether the outputs are linear in the predictor. kinked: whether they have kinks along which flows
    slide. homogeneous: whether multiplying all weights by a number multiplies the kernel by a number.
    elementwise: whether every coordinate of the predictor has its own weights, which grow in proportion to
    themselves.
    written_out: whether the derivatives are implemented in NumPy, so that flows of raw weights run without
    JAX. traceable: whether JAX can trace the functions.
    """

    linear: bool = True
    kinked: bool = False
    homogeneous: bool = False
    written_out: bool = False
    elementwise: bool = False
    traceable: bool = True

    def predictor(self, weights: Weights) -> Any:
        """w."""
        raise TypeError(f"{type(self).__name__} must implement predictor(weights)")

    def outputs(self, weights: Weights, X: Any) -> Any:
        """X w."""
        return X @ self.predictor(weights)

    def pull(self, weights: Weights, X: Float, r: Float) -> Weights:
        """Jᵀ r."""
        from tacit.autodiff import jax

        with jax.enable_x64(True):
            pulled = jax.vjp(lambda theta: self.outputs(theta, X), dict(weights))[1](jax.numpy.asarray(r))[0]
            return {name: np.asarray(each) for name, each in pulled.items()}

    def push(self, weights: Weights, X: Float, r: Float) -> Float:
        """(∂w/∂θ) Jᵀ r."""
        from tacit.autodiff import jax

        pulled = self.pull(weights, X, r)
        with jax.enable_x64(True):
            return np.asarray(jax.jvp(self.predictor, (dict(weights),), (pulled,))[1])

    def jacobian(self, weights: Weights, X: Float) -> Float:
        """J; the outputs of a sample are adjacent rows."""
        from tacit.autodiff import jax

        with jax.enable_x64(True):
            slopes = jax.jacrev(lambda theta: self.outputs(theta, X).ravel())(dict(weights))
            return side_by_side(weights, {name: np.asarray(each) for name, each in slopes.items()})

    def curvature(self, weights: Weights, X: Float, r: Float) -> Float:
        """Σ rₙ∇²fₙ."""
        from tacit.autodiff import jax

        with jax.enable_x64(True):
            blocks = jax.hessian(lambda theta: (r * self.outputs(theta, X)).sum())(dict(weights))
            upper = {(a, b): np.asarray(blocks[a][b]) for a in weights for b in weights}
        return symmetric(weights, upper)

    def kernel(self, weights: Weights, X: Float) -> Float:
        """J Jᵀ."""
        J = self.jacobian(weights, X)
        return J @ J.T

    def invariants(self, weights: Weights) -> Invariants:
        """Conserved quantities with the sizes of their terms; none by default."""
        return {}

    def smoothed(self, weights: Weights, X: Float) -> Parametrization:
        """The parametrization with smoothed kinks, for integrators that cannot slide along them."""
        return self

    def reduced(self, weights: Weights, X: Float) -> Reduction:
        """The smallest network with the same outputs at all times."""
        return Reduction(weights, X, self.predictor)


def side_by_side(weights: Weights, columns: Weights) -> Float:
    """J from the derivatives by each of the weights, (outputs, *shape)."""
    sizes = {name: np.size(each) for name, each in weights.items()}
    return np.hstack([columns[name].reshape(-1, size) for name, size in sizes.items()])


def symmetric(weights: Weights, blocks: Blocks) -> Float:
    """The symmetric matrix with these blocks and their transposes; other blocks are 0."""
    sizes = {name: np.size(each) for name, each in weights.items()}

    def block(a: str, b: str) -> Float:
        if (a, b) in blocks:
            return np.reshape(blocks[a, b], (sizes[a], sizes[b]))
        if (b, a) in blocks:
            return np.reshape(blocks[b, a], (sizes[b], sizes[a])).T
        return np.zeros((sizes[a], sizes[b]))

    return np.block([[block(a, b) for b in weights] for a in weights])


class Elementwise(Parametrization):
    """Base class of parametrizations in which every coordinate of the predictor has its own weights."""

    homogeneous = written_out = elementwise = True

    def slopes(self, weights: Weights) -> dict[str, Float]:
        """∂wᵢ/∂θᵢ for each of the weights."""
        raise TypeError(f"{type(self).__name__} must implement slopes")

    def bends(self, weights: Weights) -> Blocks:
        """∂²wᵢ/∂θᵢ∂φᵢ for pairs of weights, each pair once; those that are 0 are left out."""
        raise TypeError(f"{type(self).__name__} must implement bends")

    def metric(self, weights: Weights) -> Float:
        """The diagonal of (∂w/∂θ)(∂w/∂θ)ᵀ."""
        return np.asarray(sum(slope**2 for slope in self.slopes(weights).values()))

    def pull(self, weights: Weights, X: Float, r: Float) -> Weights:
        """Jᵀ r."""
        force = r @ X
        return {name: slope * force for name, slope in self.slopes(weights).items()}

    def push(self, weights: Weights, X: Float, r: Float) -> Float:
        """(∂w/∂θ) Jᵀ r."""
        return self.metric(weights) * (r @ X)

    def jacobian(self, weights: Weights, X: Float) -> Float:
        """J."""
        return side_by_side(weights, {name: X * slope for name, slope in self.slopes(weights).items()})

    def curvature(self, weights: Weights, X: Float, r: Float) -> Float:
        """Σ rₙ∇²fₙ, whose blocks are diagonal."""
        force = r @ X
        return symmetric(weights, {pair: np.diag(force * each) for pair, each in self.bends(weights).items()})

    def kernel(self, weights: Weights, X: Float) -> Float:
        """J Jᵀ."""
        return (X * self.metric(weights)) @ X.T


@dataclass(frozen=True)
class Powers(Elementwise):
    """w = w₊^D − w₋^D (Woodworth et al. 2020, equations 3 and 10)."""

    depth: float

    def predictor(self, weights: Weights) -> Any:
        """w₊^D − w₋^D."""
        return weights["w₊"] ** self.depth - weights["w₋"] ** self.depth

    def slopes(self, weights: Weights) -> dict[str, Float]:
        """±D w±^{D−1}."""
        D = self.depth
        return {"w₊": D * weights["w₊"] ** (D - 1), "w₋": -D * weights["w₋"] ** (D - 1)}

    def bends(self, weights: Weights) -> Blocks:
        """±D (D−1) w±^{D−2}."""
        D, factor = self.depth, self.depth * (self.depth - 1)
        plus, minus = factor * weights["w₊"] ** (D - 2), -factor * weights["w₋"] ** (D - 2)
        return {("w₊", "w₊"): plus, ("w₋", "w₋"): minus}

    def invariants(self, weights: Weights) -> Invariants:
        """The power mean of w₊ and w₋ with exponent 2 − D; at D = 2 the geometric mean √(w₊w₋)."""
        plus, minus, exponent = weights["w₊"], weights["w₋"], 2 - self.depth
        if exponent == 0:
            mean = np.sqrt(plus) * np.sqrt(minus)
        else:
            low, high = np.minimum(plus, minus), np.maximum(plus, minus)
            # in logarithms, because the power of the ratio rounds to 1 if the depth is close to 2
            mean = low * np.exp(np.log1p(np.expm1(exponent * np.log(high / low)) / 2) / exponent)
        return {"power mean of w₊ and w₋": (mean, mean)}


@dataclass(frozen=True)
class LayerProducts(Elementwise):
    """w = ∏ aⱼ₊ − ∏ aⱼ₋, two products of `depth` layers."""

    depth: int

    def names(self, side: str) -> list[str]:
        """The names of the weights of every layer on one side, such as a₁₊."""
        return [f"a{str(layer + 1).translate(_DIGITS)}{side}" for layer in range(self.depth)]

    def _sides(self, weights: Weights) -> Iterator[tuple[int, list[str], list[Any]]]:
        """The sign, the names and the layers of both products."""
        for sign, side in zip((1, -1), SIDES, strict=True):
            names = self.names(side)
            yield sign, names, [weights[name] for name in names]

    def predictor(self, weights: Weights) -> Any:
        """∏ aⱼ₊ − ∏ aⱼ₋."""
        plus, minus = (_product(layers) for _, _, layers in self._sides(weights))
        return plus - minus

    def slopes(self, weights: Weights) -> dict[str, Float]:
        """±∏ aₖ over the other layers k ≠ j."""
        return {
            name: sign * _product(layers[:j] + layers[j + 1 :])
            for sign, names, layers in self._sides(weights)
            for j, name in enumerate(names)
        }

    def bends(self, weights: Weights) -> Blocks:
        """±∏ aₖ over the layers k ≠ i, j."""
        return {
            (names[i], names[j]): sign * _product(layers[:i] + layers[i + 1 : j] + layers[j + 1 :])
            for sign, names, layers in self._sides(weights)
            for i, j in combinations(range(self.depth), 2)
        }

    def invariants(self, weights: Weights) -> Invariants:
        """Differences of the squares of consecutive layers."""
        return {
            f"{second}² − {first}²": ((b - a) * (b + a), a**2 + b**2)
            for _, names, layers in self._sides(weights)
            for (first, a), (second, b) in pairwise(zip(names, layers, strict=True))
        }


def _product(layers: list[Any]) -> Any:
    return reduce(operator.mul, layers, 1.0)


@dataclass(frozen=True)
class Products(LayerProducts):
    """w̃ = u₊∘v₊ − u₋∘v₋ (Azulay et al. 2021, Section 4)."""

    depth: int = 2

    def names(self, side: str) -> list[str]:
        """u and v."""
        return [f"u{side}", f"v{side}"]

    def invariants(self, weights: Weights) -> Invariants:
        """δ± = v±² − u±² and c = u₊u₋ + v₊v₋ (Appendix A, equation 17)."""
        found = {f"δ{name[1]} = {name}": terms for name, terms in super().invariants(weights).items()}
        u, v, up, vp = (weights[name] for name in ("u₊", "v₊", "u₋", "v₋"))
        return found | {"c = u₊u₋ + v₊v₋": (u * up + v * vp, np.abs(u * up) + np.abs(v * vp))}


@dataclass(frozen=True)
class Perceptron(Parametrization):
    r"""f(x) = a·σ(w·x) with σ(t) = max(t, slope·t) (Azulay et al. 2021, Sections 6 and 8); predictor a·w.

    smoothing: the width over which the kink of σ is smoothed, for integrators that cannot slide along it.
    """

    slope: float = 1.0
    smoothing: float = 0.0
    homogeneous = written_out = True

    @property
    def linear(self) -> bool:  # type: ignore[override]
        """Whether σ is linear."""
        return self.slope == 1

    @property
    def kinked(self) -> bool:  # type: ignore[override]
        """Whether σ has a kink."""
        return self.slope < 1 and not self.smoothing

    def smoothed(self, weights: Weights, X: Float) -> Perceptron:
        """The kink smoothed over a small fraction of the largest input."""
        if self.linear:
            return self
        size = float(np.linalg.norm(weights["w"])) or abs(float(weights["a"]))
        return replace(self, smoothing=_KINK * float(np.linalg.norm(X, axis=1).max()) * size)

    def reduced(self, weights: Weights, X: Float) -> Reduction:
        """For linear neurons, without the part of w that is orthogonal to X."""
        return reduced_neuron(weights, X) if self.linear else super().reduced(weights, X)

    def activation(self, t: Any) -> Any:
        """σ(t)."""
        if self.slope == 1:
            return t
        xp = array_namespace(t)
        if not self.smoothing:
            return xp.where(t > 0, t, self.slope * t)
        return (1 + self.slope) / 2 * t + (1 - self.slope) / 2 * xp.sqrt(t * t + self.smoothing**2)

    def gate(self, t: Float) -> Float:
        """σ'(t); at a kink that is not smoothed, the slope for negative inputs."""
        if not self.smoothing:
            return np.where(t > 0, 1.0, self.slope)
        return (1 + self.slope) / 2 + (1 - self.slope) / 2 * t / np.hypot(t, self.smoothing)

    def gate_slope(self, t: Float) -> Float:
        """σ''(t); 0 at a kink that is not smoothed."""
        if not self.smoothing:
            return np.zeros_like(t)
        size = np.hypot(t, self.smoothing)
        return (1 - self.slope) / 2 * (self.smoothing / size) ** 2 / size

    def predictor(self, weights: Weights) -> Any:
        """a·w."""
        return weights["a"] * weights["w"]

    def outputs(self, weights: Weights, X: Any) -> Any:
        """a·σ(X w)."""
        return weights["a"] * self.activation(X @ weights["w"])

    def pull(self, weights: Weights, X: Float, r: Float) -> Weights:
        """Jᵀ r."""
        t = X @ weights["w"]
        return {
            "a": np.asarray(r @ self.activation(t)),
            "w": weights["a"] * ((r * self.gate(t)) @ X),
        }

    def push(self, weights: Weights, X: Float, r: Float) -> Float:
        """The derivative of a·w in the direction Jᵀ r."""
        pulled = self.pull(weights, X, r)
        return np.asarray(weights["a"] * pulled["w"] + pulled["a"] * weights["w"])

    def jacobian(self, weights: Weights, X: Float) -> Float:
        """σ, and a σ' x."""
        t = X @ weights["w"]
        gated = weights["a"] * self.gate(t)[:, None] * X
        return side_by_side(weights, {"a": self.activation(t), "w": gated})

    def curvature(self, weights: Weights, X: Float, r: Float) -> Float:
        """Σ rₙσ'x between a and w, and Σ rₙaσ''xxᵀ of w."""
        t = X @ weights["w"]
        bent = X.T @ ((r * weights["a"] * self.gate_slope(t))[:, None] * X)
        return symmetric(weights, {("a", "w"): (r * self.gate(t)) @ X, ("w", "w"): bent})

    def kernel(self, weights: Weights, X: Float) -> Float:
        """J Jᵀ = σσᵀ + a² gates∘XXᵀ."""
        t = X @ weights["w"]
        sigma, gated = self.activation(t), self.gate(t)[:, None] * X
        return np.asarray(np.outer(sigma, sigma) + weights["a"] ** 2 * (gated @ gated.T))

    def invariants(self, weights: Weights) -> Invariants:
        """δ = a² − ‖w‖² (Section 6)."""
        square, norm = weights["a"] ** 2, float(weights["w"] @ weights["w"])
        return {"δ = a² − ‖w‖²": (np.asarray(square - norm), np.asarray(square + norm))}


class Factored(Parametrization):
    """Base class of two-layer parametrizations with predictor U Vᵀ."""

    homogeneous = written_out = True

    def predictor(self, weights: Weights) -> Any:
        """U Vᵀ."""
        return weights["U"] @ weights["V"].T

    def force(self, X: Float, r: Float) -> Float:
        """G = Σ r ∂f/∂(UVᵀ), of the shape of the predictor."""
        raise TypeError(f"{type(self).__name__} must implement force")

    def pull(self, weights: Weights, X: Float, r: Float) -> Weights:
        """Jᵀ r = (G V, Gᵀ U) with G of `force`."""
        G = self.force(X, r)
        return {"U": G @ weights["V"], "V": G.T @ weights["U"]}

    def push(self, weights: Weights, X: Float, r: Float) -> Float:
        """U Uᵀ G + G V Vᵀ."""
        G, U, V = self.force(X, r), weights["U"], weights["V"]
        return np.asarray(U @ (U.T @ G) + (G @ V) @ V.T)

    def curvature(self, weights: Weights, X: Float, r: Float) -> Float:
        """Σ rₙ∇²fₙ: G between entries of U and V in the same column."""
        width = weights["U"].shape[1]
        return symmetric(weights, {("U", "V"): np.asarray(np.kron(self.force(X, r), np.eye(width)), float)})

    def invariants(self, weights: Weights) -> Invariants:
        """Λ = UᵀU − VᵀV (Min et al. 2021, Section 2)."""
        inner, outer = weights["U"].T @ weights["U"], weights["V"].T @ weights["V"]
        size = np.asarray(np.linalg.norm(inner) + np.linalg.norm(outer))
        return {"Λ = UᵀU − VᵀV": (inner - outer, size)}


@dataclass(frozen=True)
class Layers(Factored):
    """f(x) = V Uᵀ x, one output for each row of V; a single output is a vector over the samples."""

    def outputs(self, weights: Weights, X: Any) -> Any:
        """X U Vᵀ: (N,) for one output, (N, m) for several."""
        U, V = weights["U"], weights["V"]
        f = X @ (U @ V.T) if len(V) < V.shape[1] else (X @ U) @ V.T  # the cheaper order
        return f[:, 0] if f.shape[1] == 1 else f

    def reduced(self, weights: Weights, X: Float) -> Reduction:
        """A network no wider than features and outputs together, without the part of U orthogonal to X."""
        return reduced_layers(weights, X)

    def force(self, X: Float, r: Float) -> Float:
        """Xᵀ r."""
        return X.T @ (r[:, None] if r.ndim == 1 else r)

    def jacobian(self, weights: Weights, X: Float) -> Float:
        """∂f_j(x)/∂U_ik = x_i V_jk and ∂f_j(x)/∂V_jk = (Uᵀx)_k."""
        U, V = weights["U"], weights["V"]
        inner = np.einsum("ni,jk->njik", X, V)
        return side_by_side(weights, {"U": inner, "V": np.einsum("nk,jl->njlk", X @ U, np.eye(len(V)))})

    def kernel(self, weights: Weights, X: Float) -> Float:
        """J Jᵀ: (N, N) for one output; for m, (N·m, N·m) with the outputs of a sample in adjacent rows."""
        XU, V = X @ weights["U"], weights["V"]
        return np.kron(XU @ XU.T, np.eye(len(V))) + np.kron(X @ X.T, V @ V.T)
