r"""Parametrizations: how weights θ make a predictor w, each a value of its own without any weights in it.

Every one has, for weights given as a dict of arrays,

    predictor(weights)        w
    outputs(weights, X)       f(x₁), …, f(x_N)
    pull(weights, X, r)       Jᵀr, with J = ∂(outputs)/∂(weights): the direction in which −r as a slope pulls
    push(weights, X, r)       (∂w/∂θ) Jᵀ r: how that direction moves the predictor
    kernel(weights, X)        J Jᵀ, the tangent kernel
    invariants(weights)       what gradient flow keeps constant, by name, with the size of what it is made of
    linear                    whether the outputs are linear in the predictor

`predictor` and `outputs` work on NumPy and JAX arrays alike; the rest is written out for NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data import Float
from tacit.potentials.arrays import array_namespace

Weights = dict[str, Any]
Invariants = dict[str, tuple[Float, Float]]


class _Elementwise:
    """Every coordinate of the predictor has weights of its own, and the outputs are X w."""

    linear = True

    def slopes(self, weights: Weights) -> dict[str, Float]:
        """∂wᵢ/∂θᵢ for each of the weights."""
        raise TypeError(f"{type(self).__name__} must implement slopes")

    def predictor(self, weights: Weights) -> Any:
        """w."""
        raise TypeError(f"{type(self).__name__} must implement predictor")

    def outputs(self, weights: Weights, X: Any) -> Any:
        """X w."""
        return X @ self.predictor(weights)

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
class Powers(_Elementwise):
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
            mean = low * ((1 + (high / low) ** exponent) / 2) ** (1 / exponent)
        return {"power mean of w₊ and w₋": (mean, mean)}


@dataclass(frozen=True)
class Products(_Elementwise):
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
class Perceptron:
    r"""f(x) = a·σ(w·x) with σ(t) = max(t, slope·t) (Azulay et al. 2021, Sections 6 and 8); predictor a·w.

    smoothing: rounds the kink of σ over this width, for integrators that cannot slide along it.
    """

    slope: float = 1.0
    smoothing: float = 0.0

    @property
    def linear(self) -> bool:
        """Whether σ is."""
        return self.slope == 1

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


class _Factored:
    """Two layers whose product U Vᵀ is the predictor."""

    linear = True

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
class Layers(_Factored):
    """f(x) = V Uᵀ x, one number for each row of V; a single output is a plain vector over the samples."""

    def outputs(self, weights: Weights, X: Any) -> Any:
        """X U Vᵀ: (N,) for one output, (N, m) for several."""
        U, V = weights["U"], weights["V"]
        f = X @ (U @ V.T) if len(V) < V.shape[1] else (X @ U) @ V.T  # what takes fewer products
        return f[:, 0] if f.shape[1] == 1 else f

    def force(self, X: Float, r: Float) -> Float:
        """Xᵀ r."""
        return X.T @ (r[:, None] if r.ndim == 1 else r)

    def kernel(self, weights: Weights, X: Float) -> Float:
        """J Jᵀ: (N, N) for one output; for m, (N·m, N·m) with the outputs of a sample side by side."""
        XU, V = X @ weights["U"], weights["V"]
        return np.kron(XU @ XU.T, np.eye(len(V))) + np.kron(X @ X.T, V @ V.T)


@dataclass(frozen=True)
class Factors(_Factored):
    """f(X) = ⟨U Vᵀ, X⟩ for matrices X (Woodworth et al. 2020, Section 6)."""

    def outputs(self, weights: Weights, X: Any) -> Any:
        """⟨U Vᵀ, Xₙ⟩ for every n."""
        product = self.predictor(weights)
        return X.reshape(X.shape[0], -1) @ product.reshape(-1)

    def force(self, X: Float, r: Float) -> Float:
        """Σ rₙ Xₙ."""
        return np.tensordot(r, X, 1)

    def kernel(self, weights: Weights, X: Float) -> Float:
        """⟨XₙV, X'V⟩ + ⟨XₙᵀU, X'ᵀU⟩."""
        left = (X @ weights["V"]).reshape(len(X), -1)
        right = (X.transpose(0, 2, 1) @ weights["U"]).reshape(len(X), -1)
        return left @ left.T + right @ right.T
