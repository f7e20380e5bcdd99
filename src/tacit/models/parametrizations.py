r"""Parametrizations: how weights θ make a predictor w, each a value of its own without any weights in it.

`predictor` and `outputs` work on NumPy and JAX arrays alike; the rest is written out for NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.models.reduction import Reduction, Weights, reduced_layers, reduced_neuron
from tacit.potentials.arrays import array_namespace

Invariants = dict[str, tuple[Float, Float]]
_KINK = 1e-9  # width over which the kink of a leaky neuron is rounded, relative to its inputs


class Parametrization:
    r"""What a flow asks of a parametrization, for weights given as a dict of arrays.

    One method must be given, with functions that JAX can differentiate:

        predictor(weights)        w

    These have defaults, the first for outputs X w and the others by differentiation:

        outputs(weights, X)       f(x₁), …, f(x_N)
        pull(weights, X, r)       Jᵀr, with J = ∂(outputs)/∂(weights): where −r as a slope pulls
        push(weights, X, r)       (∂w/∂θ) Jᵀ r: how that direction moves the predictor
        kernel(weights, X)        J Jᵀ, the tangent kernel
        invariants(weights)       what gradient flow keeps constant, by name, with the size of its terms

    linear: whether the outputs are linear in the predictor. kinked: whether they have kinks along which flows
    slide. homogeneous: whether weights multiplied by one number multiply the kernel by another. written_out:
    whether `pull` is, so that integrators without JAX can use it. traceable: whether JAX can trace
    it.
    """

    linear: bool = True
    kinked: bool = False
    homogeneous: bool = False
    written_out: bool = False
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
        """How Jᵀ r moves the predictor."""
        from tacit.autodiff import jax

        pulled = self.pull(weights, X, r)
        with jax.enable_x64(True):
            return np.asarray(jax.jvp(self.predictor, (dict(weights),), (pulled,))[1])

    def kernel(self, weights: Weights, X: Float) -> Float:
        """J Jᵀ."""
        from tacit.autodiff import jax

        with jax.enable_x64(True):
            slopes = jax.jacrev(lambda theta: self.outputs(theta, X).ravel())(dict(weights))
            J = np.hstack([np.asarray(each).reshape(each.shape[0], -1) for each in slopes.values()])
        return np.asarray(J @ J.T)

    def invariants(self, weights: Weights) -> Invariants:
        """Nothing that is known."""
        return {}

    def smoothed(self, weights: Weights, X: Float) -> Parametrization:
        """Its kinks rounded, for integrators that would stall where flows slide along them."""
        return self

    def reduced(self, weights: Weights, X: Float) -> Reduction:
        """The smallest network that follows the same flow."""
        return Reduction(weights, X, self.predictor)


class Elementwise(Parametrization):
    """Every coordinate of the predictor has weights of its own, and the outputs are X w."""

    homogeneous = written_out = True

    def slopes(self, weights: Weights) -> dict[str, Float]:
        """∂wᵢ/∂θᵢ for each of the weights."""
        raise TypeError(f"{type(self).__name__} must implement slopes")

    def metric(self, weights: Weights) -> Float:
        """The diagonal of (∂w/∂θ)(∂w/∂θ)ᵀ."""
        return np.asarray(sum(slope**2 for slope in self.slopes(weights).values()))

    def pull(self, weights: Weights, X: Float, r: Float) -> Weights:
        """Jᵀ r."""
        force = r @ X
        return {name: slope * force for name, slope in self.slopes(weights).items()}

    def push(self, weights: Weights, X: Float, r: Float) -> Float:
        """How Jᵀ r moves the predictor."""
        return self.metric(weights) * (r @ X)

    def kernel(self, weights: Weights, X: Float) -> Float:
        """J Jᵀ."""
        return (X * self.metric(weights)) @ X.T


@dataclass(frozen=True)
class Powers(Elementwise):
    """w = w₊^D − w₋^D (Woodworth et al. 2020, equation 3 and 10)."""

    depth: float

    def predictor(self, weights: Weights) -> Any:
        """w₊^D − w₋^D."""
        return weights["w₊"] ** self.depth - weights["w₋"] ** self.depth

    def slopes(self, weights: Weights) -> dict[str, Float]:
        """±D w±^{D−1}."""
        D = self.depth
        return {"w₊": D * weights["w₊"] ** (D - 1), "w₋": -D * weights["w₋"] ** (D - 1)}

    def invariants(self, weights: Weights) -> Invariants:
        """The power mean of w₊ and w₋ with exponent 2 − D; at D = 2 the geometric mean √(w₊w₋)."""
        plus, minus, exponent = weights["w₊"], weights["w₋"], 2 - self.depth
        if exponent == 0:
            mean = np.sqrt(plus) * np.sqrt(minus)
        else:
            low, high = np.minimum(plus, minus), np.maximum(plus, minus)
            # in logarithms, as near depth 2 the power of the ratio rounds to 1
            mean = low * np.exp(np.log1p(np.expm1(exponent * np.log(high / low)) / 2) / exponent)
        return {"power mean of w₊ and w₋": (mean, mean)}


@dataclass(frozen=True)
class Products(Elementwise):
    """w̃ = u₊∘v₊ − u₋∘v₋ (Azulay et al. 2021, Section 4)."""

    def predictor(self, weights: Weights) -> Any:
        """u₊v₊ − u₋v₋."""
        return weights["u₊"] * weights["v₊"] - weights["u₋"] * weights["v₋"]

    def slopes(self, weights: Weights) -> dict[str, Float]:
        """v₊, u₊, −v₋, −u₋."""
        return {"u₊": weights["v₊"], "v₊": weights["u₊"], "u₋": -weights["v₋"], "v₋": -weights["u₋"]}

    def invariants(self, weights: Weights) -> Invariants:
        """δ± = v±² − u±² and c = u₊u₋ + v₊v₋ (Appendix A, equation 17)."""
        u, v, up, vp = (weights[name] for name in ("u₊", "v₊", "u₋", "v₋"))
        return {
            "δ₊ = v₊² − u₊²": ((v - u) * (v + u), u**2 + v**2),
            "δ₋ = v₋² − u₋²": ((vp - up) * (vp + up), up**2 + vp**2),
            "c = u₊u₋ + v₊v₋": (u * up + v * vp, np.abs(u * up) + np.abs(v * vp)),
        }


@dataclass(frozen=True)
class Perceptron(Parametrization):
    r"""f(x) = a·σ(w·x) with σ(t) = max(t, slope·t) (Azulay et al. 2021, Sections 6 and 8); predictor a·w.

    smoothing: rounds the kink of σ over this width, for integrators that cannot slide along it.
    """

    slope: float = 1.0
    smoothing: float = 0.0
    homogeneous = written_out = True

    @property
    def linear(self) -> bool:  # type: ignore[override]
        """Whether σ is."""
        return self.slope == 1

    @property
    def kinked(self) -> bool:  # type: ignore[override]
        """Whether σ has a kink."""
        return self.slope < 1 and not self.smoothing

    def smoothed(self, weights: Weights, X: Float) -> Perceptron:
        """The kink rounded over a small part of the largest input."""
        if self.linear:
            return self
        size = float(np.linalg.norm(weights["w"])) or abs(float(weights["a"]))
        return replace(self, smoothing=_KINK * float(np.linalg.norm(X, axis=1).max()) * size)

    def reduced(self, weights: Weights, X: Float) -> Reduction:
        """Without the features that X does not see, for linear neurons."""
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
        """σ'(t), the slope of the negative side at a kink that is not rounded."""
        if not self.smoothing:
            return np.where(t > 0, 1.0, self.slope)
        return (1 + self.slope) / 2 + (1 - self.slope) / 2 * t / np.hypot(t, self.smoothing)

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
        """How Jᵀ r moves a·w."""
        pulled = self.pull(weights, X, r)
        return weights["a"] * pulled["w"] + pulled["a"] * weights["w"]

    def kernel(self, weights: Weights, X: Float) -> Float:
        """J Jᵀ = σσᵀ + a² gates∘XXᵀ."""
        t = X @ weights["w"]
        gated = self.gate(t)[:, None] * X
        return np.outer(self.activation(t), self.activation(t)) + weights["a"] ** 2 * (gated @ gated.T)

    def invariants(self, weights: Weights) -> Invariants:
        """δ = a² − ‖w‖² (Section 6)."""
        square, norm = weights["a"] ** 2, float(weights["w"] @ weights["w"])
        return {"δ = a² − ‖w‖²": (np.asarray(square - norm), np.asarray(square + norm))}


class Factored(Parametrization):
    """Two layers whose product U Vᵀ is the predictor."""

    homogeneous = written_out = True

    def predictor(self, weights: Weights) -> Any:
        """U Vᵀ."""
        return weights["U"] @ weights["V"].T

    def force(self, X: Float, r: Float) -> Float:
        """Σ r ∂f/∂(UVᵀ), of the shape of the predictor."""
        raise TypeError(f"{type(self).__name__} must implement force")

    def pull(self, weights: Weights, X: Float, r: Float) -> Weights:
        """Jᵀ r = (G V, Gᵀ U), G the force on the predictor."""
        G = self.force(X, r)
        return {"U": G @ weights["V"], "V": G.T @ weights["U"]}

    def push(self, weights: Weights, X: Float, r: Float) -> Float:
        """U Uᵀ G + G V Vᵀ."""
        G, U, V = self.force(X, r), weights["U"], weights["V"]
        return U @ (U.T @ G) + (G @ V) @ V.T

    def invariants(self, weights: Weights) -> Invariants:
        """Λ = UᵀU − VᵀV (Min et al. 2021, Section 2)."""
        inner, outer = weights["U"].T @ weights["U"], weights["V"].T @ weights["V"]
        size = np.asarray(np.linalg.norm(inner) + np.linalg.norm(outer))
        return {"Λ = UᵀU − VᵀV": (inner - outer, size)}


@dataclass(frozen=True)
class Layers(Factored):
    """f(x) = V Uᵀ x, one number for each row of V; a single output is a plain vector over the samples."""

    def outputs(self, weights: Weights, X: Any) -> Any:
        """X U Vᵀ: (N,) for one output, (N, m) for several."""
        U, V = weights["U"], weights["V"]
        f = X @ (U @ V.T) if len(V) < V.shape[1] else (X @ U) @ V.T  # what takes fewer products
        return f[:, 0] if f.shape[1] == 1 else f

    def reduced(self, weights: Weights, X: Float) -> Reduction:
        """No wider than features and outputs, and without the features that X does not see."""
        return reduced_layers(weights, X)

    def force(self, X: Float, r: Float) -> Float:
        """Xᵀ r."""
        return X.T @ (r[:, None] if r.ndim == 1 else r)

    def kernel(self, weights: Weights, X: Float) -> Float:
        """J Jᵀ: (N, N) for one output; for m, (N·m, N·m) with the outputs of a sample side by side."""
        XU, V = X @ weights["U"], weights["V"]
        return np.kron(XU @ XU.T, np.eye(len(V))) + np.kron(X @ X.T, V @ V.T)
