r"""A user-defined network: a function of weights and inputs with its initial weights, and as a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, kept
from tacit.data.entries import Inputs
from tacit.errors import InputError, NoPotentialError
from tacit.models.model import Model
from tacit.models.parametrizations import Invariants, Parametrization
from tacit.models.reduction import Weights
from tacit.networks.backend import Array, Backend, Layer, as_outputs, as_samples, check_function, listed
from tacit.networks.kernels import (
    MEMORY,
    KernelCost,
    angle_of,
    cost_of,
    distance_between,
    movement,
    tangent_kernel,
)
from tacit.networks.rescaling import Homogeneity, balanced, check_same, homogeneity, random_inputs
from tacit.networks.symmetries import Conserved, conserved


@dataclass(frozen=True)
class NetworkParametrization(Parametrization):
    """The map from the weights of the layers to the outputs, in double precision.

    X: the inputs whose outputs are the predictor. quantities: what gradient flow conserves.
    """

    backend: Any  # a Backend; that of JAX also has the method `traced`
    X: Array | None = field(default=None, compare=False)
    quantities: tuple[Conserved, ...] = field(default=(), compare=False)
    linear = False

    @property
    def traceable(self) -> bool:  # type: ignore[override]
        """True for networks in JAX."""
        return hasattr(self.backend, "traced")

    def flat(self, weights: Weights) -> Array:
        """All weights in one flat array."""
        parts = [np.ravel(weights[layer.name]) for layer in self.backend.layers]
        return np.concatenate(parts).astype(np.float64, copy=False)

    def by_name(self, flat: Array) -> Weights:
        """The weights of each layer."""
        return {layer.name: layer.of(flat) for layer in self.backend.layers}

    def predictor(self, weights: Weights) -> Any:
        """The outputs at the inputs X of the flow."""
        if self.X is None:
            raise InputError("a network has no predictor without inputs: use network.outputs(X)")
        return self.outputs(weights, self.X)

    def outputs(self, weights: Weights, X: Any) -> Any:
        """The outputs f(x₁), …, f(x_N): (N,) for one output, (N, m) for several."""
        if self.traceable and not isinstance(next(iter(weights.values())), np.ndarray):
            f = self.backend.traced([weights[layer.name] for layer in self.backend.layers], X)
        else:
            f = self.backend.outputs(self.flat(weights), np.asarray(X))
        return f[:, 0] if f.ndim == 2 and f.shape[1] == 1 else f

    def pull(self, weights: Weights, X: Float, r: Float) -> Weights:
        """Jᵀ r."""
        return self.by_name(self.backend.vjp(self.flat(weights), X, r.reshape(len(X), -1)))

    def push(self, weights: Weights, X: Float, r: Float) -> Float:
        """J Jᵀ r: the change of the outputs when the weights change by Jᵀ r."""
        flat = self.flat(weights)
        return self.backend.jvp(flat, X, self.backend.vjp(flat, X, r.reshape(len(X), -1))).reshape(r.shape)

    def kernel(self, weights: Weights, X: Float) -> Float:
        """The tangent kernel J Jᵀ, computed in blocks."""
        m = self.outputs(weights, X[:1]).size
        return tangent_kernel(self.backend, self.flat(weights), X, None, m, MEMORY)

    def invariants(self, weights: Weights) -> Invariants:
        """The conserved quantities, with the size of their terms."""
        flat = self.flat(weights) if self.quantities else np.zeros(0)
        return {each.name: each.value(flat) for each in self.quantities}


class Network(Model):
    """A network f(θ, x) given as a function, in JAX or, with `Network.from_torch`, in PyTorch.

    Computations use the precision of the weights, float32 or float64 (`with_weights` changes it). Inputs and
    results are NumPy arrays.

    Parameters
    ----------
    apply : callable
        apply(params, X) returns (N,) or (N, m) for an X of any shape whose first axis is the samples. The
        outputs of a sample must not depend on the other samples.
    params : pytree
        Its floating-point arrays are the weights θ; all other leaves stay constant. The order of the weights
        is the order of the tree, which sorts dicts by their keys.

    Raises
    ------
    InputError
        If params contains no floating-point arrays, or apply is not callable.

    See Also
    --------
    probe : Find out whether the network learns features on your data.
    Monitor : Record how the network changes during your own training.

    Examples
    --------
    >>> import numpy as np
    >>> import tacit
    >>> def linear(params, X):
    ...     return X @ params["w"]
    >>> network = tacit.Network(linear, {"w": np.array([1.0, 2.0])})
    >>> network
    Network(linear, 2 weights in 1 layer, JAX float64)
    >>> network.tangent_kernel([[1.0, 0.0], [0.0, 3.0]]).tolist()
    [[1.0, 0.0], [0.0, 9.0]]
    """

    has_predictor = False

    def __init__(self, apply: Callable[[Any, Any], Any], params: Any):
        from tacit.networks.in_jax import InJax

        backend = InJax(apply, params)
        self._set(backend, backend.start())

    @classmethod
    def from_torch(cls, module: Any) -> Network:
        """Wrap a copy of a PyTorch module. Only `current()` sees later changes of the module.

        Parameters
        ----------
        module : torch.nn.Module
            Its parameters are the weights: shared ones count once, those with requires_grad=False are kept
            constant. Batch normalization and dropout must be in evaluation mode (`module.eval()`).

        Returns
        -------
        Network
            The network with the module's weights.

        Raises
        ------
        InputError
            If the output for a sample is random or depends on other samples.
        """
        from tacit.networks.in_torch import InTorch

        backend = InTorch.of(module)
        return cls._of(backend, backend.start())

    @classmethod
    def _of(cls, backend: Backend, weights: Array) -> Network:
        network = cls.__new__(cls)
        network._set(backend, weights)
        return network

    def _set(self, backend: Backend, weights: Array) -> None:
        if not np.isfinite(weights).all():
            layer = next(each for each in backend.layers if not np.isfinite(each.of(weights)).all())
            raise InputError(
                f"the weights must be finite, but layer {layer.name} has NaN or infinite weights"
            )
        self._backend, self._weights = backend, weights.copy()
        self._weights.flags.writeable = False
        # The number of outputs m, by (shape of a sample, kind of X, precision), for inputs already checked.
        self._checked: dict[Any, int] = {}
        self._samples: Array | None = None

    def __repr__(self) -> str:
        fixed = f", fixed: {listed(self._backend.fixed)}" if self._backend.fixed else ""
        return (
            f"Network({self._backend.name()}, {self._weights.size:,} weights in {len(self.layers)} "
            f"layer{'s' if len(self.layers) != 1 else ''}, {self._backend.framework} "
            f"{self._weights.dtype}{fixed})"
        )

    def describe(self) -> str:
        """Describe the model in one line."""
        return f"{self!r}: a general function of its weights"

    # Weights

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The arrays of weights, each with its name, shape and position in the flat array `weights`."""
        return self._backend.layers

    @property
    def weights(self) -> Array:
        """All weights in one flat array, (P,)."""
        return self._weights

    @property
    def params(self) -> Any:
        """The weights in the framework's own form: the pytree (JAX) or tensors by name (PyTorch)."""
        return self._backend.params(self._weights)

    @property
    def module(self) -> Any:
        """A new PyTorch module with these weights; train it, then wrap it with `Network.from_torch`."""
        if not hasattr(self._backend, "module"):
            raise InputError("a network in JAX has no module: use network.params")
        return self._backend.module(self._weights)

    def with_weights(self, weights: Any) -> Network:
        """The same network with other weights, in the precision of the new weights.

        Parameters
        ----------
        weights : (P,) array-like
            All weights in one flat array. Anything but float64 is converted to float32.

        Returns
        -------
        Network
            The network with these weights.
        """
        given = np.asarray(weights)
        dtype = np.float64 if given.dtype == np.float64 else np.float32
        if given.shape != self._weights.shape or given.dtype.kind not in "fiu":
            raise InputError(
                f"weights must be one array of {self._weights.size:,} numbers; got {given.dtype} of shape "
                f"{given.shape}"
            )
        network = Network._of(self._backend, given.astype(dtype))
        network._checked = self._checked
        return network

    def current(self) -> Network:
        """The network with the present weights of the PyTorch module."""
        return Network._of(*self._backend.current())

    def rescaled(self, alpha: Any, d: int | None = None) -> Network:
        """Multiply all weights by α.

        Parameters
        ----------
        alpha : float
            The factor α.
        d : int, optional
            Ignored; other models need the number of features here.

        Returns
        -------
        Network
            The network with the weights αθ.
        """
        return self.with_weights(self._weights * self._weights.dtype.type(alpha))

    # The function and products with its Jacobian

    def as_inputs(self, X: Inputs) -> Any:
        """X as an array for flows: samples first, in double precision; integers stay integers."""
        X = as_samples(X)
        return X if X.dtype.kind in "iu" else X.astype(np.float64)

    def outputs(self, X: Inputs) -> Array:
        """The outputs f(θ, x) for every sample.

        Parameters
        ----------
        X : (N, …) array-like
            Inputs, samples first.

        Returns
        -------
        (N, m) array
            The outputs.
        """
        X = as_samples(X)
        key = X.shape[1:], X.dtype.kind, self._weights.dtype
        if key not in self._checked:
            outputs = check_function(self._backend, self._weights, X)
            self._checked[key] = outputs.shape[1]
            return outputs
        return as_outputs(self._backend.outputs(self._weights, X), len(X), self._backend.name())

    def n_outputs(self, X: Inputs | None = None) -> int:
        """The number of outputs m for one sample."""
        X = self._inputs(X)
        key = X.shape[1:], X.dtype.kind, self._weights.dtype
        return self._checked[key] if key in self._checked else self.outputs(X).shape[1]

    def jvp(self, X: Inputs, direction: ArrayLike) -> Array:
        """The product J·direction: first-order change of the outputs along a direction of the weights.

        Parameters
        ----------
        X : (N, …) array-like
            Inputs, samples first.
        direction : (P,) array-like
            The change of the weights.

        Returns
        -------
        (N, m) array
            The change of the outputs, to first order.
        """
        X, m = self._samples_and_outputs(X)
        direction = self._checked_shape(direction, (self._weights.size,), "direction")
        tangent = self._backend.jvp(self._weights, X, direction)
        return as_outputs(tangent, len(X), f"the derivative of {self._backend.name()}").reshape(-1, m)

    def vjp(self, X: Inputs, cotangent: ArrayLike) -> Array:
        """The product Jᵀ·cotangent: gradient of Σ cotangent·f with respect to the weights.

        Parameters
        ----------
        X : (N, …) array-like
            Inputs, samples first.
        cotangent : (N, m) array-like
            One number for each output.

        Returns
        -------
        (P,) array
            The gradient.
        """
        X, m = self._samples_and_outputs(X)
        cotangent = np.asarray(cotangent)
        cotangent = cotangent[:, None] if cotangent.ndim == 1 and m == 1 else cotangent
        return self._backend.vjp(self._weights, X, self._checked_shape(cotangent, (len(X), m), "cotangent"))

    def _samples_and_outputs(self, X: Any) -> tuple[Array, int]:
        X = as_samples(X)
        return X, self.n_outputs(X)

    def _checked_shape(self, values: Any, shape: tuple[int, ...], name: str) -> Array:
        array = np.asarray(values)
        if array.shape != shape:
            raise InputError(f"{name} must have shape {shape}, got {array.shape}")
        return array.astype(self._weights.dtype, copy=False)

    # The tangent kernel

    def tangent_kernel(self, X: Inputs, Y: ArrayLike | None = None, *, memory: int = MEMORY) -> Array:
        """The tangent kernel K = J(X)·J(Y)ᵀ, computed in blocks. `kernel_cost` estimates the cost.

        Parameters
        ----------
        X : (N, …) array-like
            Inputs, samples first.
        Y : (N', …) array-like, optional
            Other inputs; X if left out.
        memory : int, optional
            The largest part of J, in bytes, that is kept in memory at a time.

        Returns
        -------
        (N·m, N'·m) array
            K; the outputs of a sample are adjacent rows (columns).
        """
        (X, m), Y = self._samples_and_outputs(X), None if Y is None else as_samples(Y, "Y")
        return tangent_kernel(self._backend, self._weights, X, Y, m, memory)

    def kernel_cost(self, X: Inputs, Y: ArrayLike | None = None, *, memory: int = MEMORY) -> KernelCost:
        """Estimate the memory and the work that `tangent_kernel` needs.

        Parameters
        ----------
        X : (N, …) array-like
            Inputs, samples first.
        Y : (N', …) array-like, optional
            Other inputs; X if left out.
        memory : int, optional
            As for `tangent_kernel`.

        Returns
        -------
        KernelCost
            Bytes, blocks and multiplications.
        """
        X, m = self._samples_and_outputs(X)
        others = None if Y is None else len(as_samples(Y, "Y"))
        return cost_of(self._backend, self._weights, X, others, m, memory)

    def kernel_distance(self, other: Network, X: Inputs) -> float:
        """The distance 1 − cos φ to the tangent kernel at other weights, where φ is `kernel_angle`.

        Parameters
        ----------
        other : Network
            The same network with other weights.
        X : (N, …) array-like
            Inputs, samples first.

        Returns
        -------
        float
            From 0 to 1.
        """
        self._check_same(other)
        return distance_between(self.tangent_kernel(X), other.tangent_kernel(X))

    def kernel_angle(self, other: Network, X: Inputs) -> float:
        """The angle between the tangent kernels of this network and of the same network at other weights.

        Parameters
        ----------
        other : Network
            The same network with other weights.
        X : (N, …) array-like
            Inputs, samples first.

        Returns
        -------
        float
            In radians, from 0 to π/2.
        """
        return angle_of(self.kernel_distance(other, X))

    def movement(self, other: Network) -> dict[str, float]:
        """The relative distance ‖W' − W‖/‖W‖ to other weights W', for each layer.

        Parameters
        ----------
        other : Network
            The same network with other weights.

        Returns
        -------
        dict of float
            The distances by the names of the layers.
        """
        self._check_same(other)
        return movement(self.layers, self.weights, other.weights)

    def _check_same(self, other: Any) -> None:
        shapes = [(each.name, each.shape) for each in self.layers]
        if [(each.name, each.shape) for each in getattr(other, "layers", ())] != shapes:
            raise InputError(f"the other network must have the same layers as {self!r}, got {other!r}")

    # Layers and symmetries

    def balance(self) -> dict[str, float]:
        """The balance ‖W_{l+1}‖² − ‖W_l‖² of each pair of consecutive matrices or convolutions."""
        from tacit.networks.chain import balance

        return balance(self._backend, self._weights)

    def imbalances(self) -> dict[str, Array]:
        """The imbalances W_{l+1}ᵀW_{l+1} − W_lW_lᵀ − b_l b_lᵀ of consecutive layers, (units, units) each.

        Gradient flow conserves them if there is no activation between the layers, as in a linear network, and
        conserves their diagonals if the activation is positively homogeneous (see `conserved`).
        """
        from tacit.networks.chain import links

        grams = {link.name: link.grams(self._weights) for link in links(self._backend)}
        return {name: out - into for name, (into, out) in grams.items()}

    def conserved(self, X: Inputs | None = None) -> dict[str, Array]:
        """Quantities that gradient flow conserves because of symmetries of consecutive layers.

        Parameters
        ----------
        X : (N, …) array-like, optional
            Inputs at which the symmetries are tested (see `tacit.networks.symmetries`); random inputs if left
            out.

        Returns
        -------
        dict of arrays
            The conserved quantities by name.
        """
        quantities = self.on(self._inputs(X)).parametrization.quantities
        return {each.name: each.value(self._weights)[0] for each in quantities}

    def homogeneity(self, X: Inputs) -> Homogeneity:
        """Measure the degree L of homogeneity, f(cθ) = c^L f(θ).

        Parameters
        ----------
        X : (N, …) array-like
            Inputs, samples first.

        Returns
        -------
        Homogeneity
            The degree, the misfit, and whether the network is homogeneous.
        """
        return homogeneity(lambda c: self.rescaled(c).outputs(X), str(self.weights.dtype))

    def rebalanced(self, X: Inputs | None = None) -> Network:
        """Rescale the layers such that ‖W_1‖ = … = ‖W_L‖ without changing the function.

        Parameters
        ----------
        X : (N, …) array-like, optional
            Inputs at which the outputs before and after are compared; random inputs if left out.

        Returns
        -------
        Network
            The network with the rescaled weights and biases.

        Raises
        ------
        InputError
            If the rescaling changes the outputs or the layers are not a chain.
        """
        network = self.with_weights(balanced(self._backend, self.weights))
        X = self._random_inputs() if X is None else X
        check_same(self.outputs(X), network.outputs(X), str(self.weights.dtype))
        return network

    def doubled(self) -> Network:
        """The network (f(θ₁, x) − f(θ₂, x))/√2 with θ₁ = θ₂ = θ: zero outputs, the same tangent kernel.

        Chizat et al. 2019, Section 1.1 and Appendix A.
        """
        return Network._of(*self._backend.doubled(self._weights))

    # The interface of a model

    def on(self, X: Inputs) -> Network:
        """The network as a model of these samples: its predictor is the vector of its outputs there."""
        network = self.with_weights(self._weights)
        network._samples = kept(as_samples(X))
        return network

    def _inputs(self, X: Any) -> Array:
        if X is not None:
            return as_samples(X)
        return self._random_inputs() if self._samples is None else self._samples

    def _random_inputs(self) -> Array:
        """Random inputs of a shape that the network accepts; `InputError` if none is found."""
        for X in random_inputs(self._backend, self.weights.dtype):
            try:
                self.outputs(X)
            except InputError:
                continue
            return X
        raise InputError("the shape of the network's inputs is unknown: pass X, with samples first")

    @property
    def parametrization(self) -> NetworkParametrization:
        """The map from the weights of the layers to the outputs."""
        return NetworkParametrization(self._backend, self._samples, self._quantities)

    @cached_property
    def _quantities(self) -> tuple[Conserved, ...]:
        if self._samples is None:
            return ()
        return conserved(self._backend, self._weights.astype(np.float64), self._samples)

    def kernel_work(self, X: Inputs) -> float:
        """The number of multiplications for a tangent kernel."""
        return self.kernel_cost(X).operations

    def predictor(self) -> Array:
        """The outputs at the samples given to `on`."""
        return np.asarray(self.parametrization.predictor(self.start()))

    def start(self, d: int | None = None) -> Weights:
        """The weights of every layer, by name, in double precision."""
        return {layer.name: layer.of(self._weights).astype(np.float64) for layer in self.layers}

    def potential(self, d: int | None = None) -> Any:
        """No potential is known for a general network: raises `NoPotentialError`."""
        raise NoPotentialError(
            "no potential is known for a general network, so no convex program gives the limit of its "
            "training; use tacit.probe(network, X, y) to find its regime, or tacit.flow to simulate it"
        )


def check_network(network: Any) -> None:
    """Raise `InputError` if the argument is not a Network, and say how to make one."""
    if isinstance(network, Network):
        return
    if hasattr(network, "named_parameters"):
        raise InputError("wrap the module: tacit.probe(tacit.Network.from_torch(module), X, y)")
    if isinstance(network, tuple) and len(network) == 2 and callable(network[0]):
        raise InputError("wrap the pair: tacit.probe(tacit.Network(apply, params), X, y)")
    raise InputError(
        f"probe takes a tacit.Network, got {type(network).__name__}: Network(apply, params) for JAX, "
        "Network.from_torch(module) for PyTorch; for one of Tacit's models, use tacit.regime(model, X, y)"
    )
