r"""A network of your own: a function of weights and inputs, with the weights at its start."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import kept
from tacit.data.inputs import Inputs
from tacit.errors import InputError, NoPotentialError
from tacit.models.model import Model
from tacit.networks.backend import Array, Backend, Layer, listed
from tacit.networks.distances import angle_of, distance_between, movement
from tacit.networks.homogeneity import Homogeneity, homogeneity
from tacit.networks.inputs import as_outputs, as_samples, check_function
from tacit.networks.kernels import MEMORY, KernelCost, cost_of, tangent_kernel
from tacit.networks.parametrization import OfNetwork
from tacit.networks.rebalancing import balanced, check_same, guessed_inputs
from tacit.networks.symmetries import Conserved, conserved

if TYPE_CHECKING:
    from tacit.models.parametrizations import Weights


class Network(Model):
    """f(θ, x), known as a function and in no other way: in JAX, or in PyTorch by `Network.from_torch`.

    Everything is computed in the floats of the weights, float32 or float64 (`with_weights` changes them);
    what comes in and goes out are NumPy arrays.

    Parameters
    ----------
    apply : callable
        apply(params, X) gives (N,) or (N, m) for X with samples first, of any shape, each sample for itself.
    params : pytree
        Its arrays of floats are the weights θ; whatever else is in it stays as it is. They are taken in the
        order of the tree, which for dicts is that of their keys.

    Raises
    ------
    InputError
        Where params have no floats, or apply is no function.

    See Also
    --------
    probe : Does it learn features on your data?
    Monitor : What happens to it along your own training.
    """

    has_predictor = False

    def __init__(self, apply: Callable[[Any, Any], Any], params: Any):
        from tacit.networks.in_jax import InJax

        backend = InJax(apply, params)
        self._set(backend, backend.start())

    @classmethod
    def from_torch(cls, module: Any) -> Network:
        """A module of PyTorch, as it is now: what happens to it later is seen by `current()` alone.

        Parameters
        ----------
        module : torch.nn.Module
            Its parameters are the weights, those that are shared once and those with requires_grad=False not
            at all. Batch normalization and dropout must be in evaluation mode (`module.eval()`).

        Returns
        -------
        Network
            With these weights.

        Raises
        ------
        InputError
            Where the module is no function of its inputs.
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
            raise InputError(f"the weights must be finite, and those of {layer.name} are not")
        self._backend, self._weights = backend, weights.copy()
        self._weights.flags.writeable = False
        self._seen: dict[Any, int] = {}  # numbers of outputs, by shapes of samples that were checked
        self._on: Array | None = None

    def __repr__(self) -> str:
        fixed = self._backend.fixed
        held = f", fixed: {listed(fixed)}" if fixed else ""
        floats = f"{self._backend.framework} {self._weights.dtype}"
        return (
            f"Network({self._backend.name()}, {self._weights.size:,} weights in {len(self.layers)} "
            f"layer{'s' if len(self.layers) != 1 else ''}, {floats}{held})"
        )

    def describe(self) -> str:
        """What the numbers mean, in a line."""
        return f"{self!r}: a function of its weights, of which nothing else is known"

    # Weights

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Every array of weights, with its name, shape, and place in the flat weights."""
        return self._backend.layers

    @property
    def weights(self) -> Array:
        """All weights in one array, (P,)."""
        return self._weights

    @property
    def params(self) -> Any:
        """The weights as the framework knows them: the pytree, or tensors by name."""
        return self._backend.params(self._weights)

    @property
    def module(self) -> Any:
        """A module of PyTorch of its own with these weights, to train; `Network.from_torch` follows it."""
        if not hasattr(self._backend, "module"):
            raise InputError("the network is one of JAX, and has params and no module")
        return self._backend.module(self._weights)

    def with_weights(self, weights: Any) -> Network:
        """The same network with other weights; it computes in their floats.

        Parameters
        ----------
        weights : (P,) array-like
            All of them, one after the other.

        Returns
        -------
        Network
            With these weights.
        """
        given = np.asarray(weights)
        dtype = np.float64 if given.dtype == np.float64 else np.float32
        if given.shape != self._weights.shape or given.dtype.kind not in "fiu":
            raise InputError(
                f"the network has {self._weights.size:,} weights, in one array; got {given.dtype} of shape "
                f"{given.shape}"
            )
        network = Network._of(self._backend, given.astype(dtype))
        network._seen = self._seen
        return network

    def current(self) -> Network:
        """The network with the weights that the module of PyTorch has now."""
        return Network._of(*self._backend.current())

    def rescaled(self, alpha: Any, d: int | None = None) -> Network:
        """All weights times α.

        Parameters
        ----------
        alpha : float
            α.
        d : int, optional
            Not needed: the weights say it.

        Returns
        -------
        Network
            With these weights.
        """
        return self.with_weights(self._weights * self._weights.dtype.type(alpha))

    # The function and the products of its Jacobian

    def as_inputs(self, X: Inputs) -> Any:
        """X as flows take it: samples first, in double precision; whole numbers stay what they are."""
        X = as_samples(X)
        return X if X.dtype.kind in "iu" else X.astype(np.float64)

    def outputs(self, X: Inputs) -> Array:
        """f(θ, x) of every sample.

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
        if key not in self._seen:
            found = check_function(self._backend, self._weights, X)
            self._seen[key] = found.shape[1]
            return found
        return as_outputs(self._backend.outputs(self._weights, X), len(X), self._backend.name())

    def n_outputs(self, X: Inputs) -> int:
        """m, how many numbers it gives for a sample."""
        X = as_samples(X)
        key = X.shape[1:], X.dtype.kind, self._weights.dtype
        return self._seen[key] if key in self._seen else self.outputs(X).shape[1]

    def jvp(self, X: Inputs, direction: ArrayLike) -> Array:
        """J·direction: how the outputs move when the weights do.

        Parameters
        ----------
        X : (N, …) array-like
            Inputs, samples first.
        direction : (P,) array-like
            By what the weights move.

        Returns
        -------
        (N, m) array
            By what the outputs move, to first order.
        """
        X, m = self._ready(X)
        direction = self._matching(direction, (self._weights.size,), "direction")
        moved = self._backend.jvp(self._weights, X, direction)
        return as_outputs(moved, len(X), f"the derivative of {self._backend.name()}").reshape(-1, m)

    def vjp(self, X: Inputs, cotangent: ArrayLike) -> Array:
        """Jᵀ·cotangent: the gradient in the weights of Σ cotangent·f.

        Parameters
        ----------
        X : (N, …) array-like
            Inputs, samples first.
        cotangent : (N, m) array-like
            A number for every output.

        Returns
        -------
        (P,) array
            The gradient.
        """
        X, m = self._ready(X)
        cotangent = np.asarray(cotangent)
        cotangent = cotangent[:, None] if cotangent.ndim == 1 and m == 1 else cotangent
        return self._backend.vjp(self._weights, X, self._matching(cotangent, (len(X), m), "cotangent"))

    def _ready(self, X: Any) -> tuple[Array, int]:
        X = as_samples(X)
        return X, self.n_outputs(X)

    def _matching(self, values: Any, shape: tuple[int, ...], name: str) -> Array:
        array = np.asarray(values)
        if array.shape != shape:
            raise InputError(f"{name} must have shape {shape}, got {array.shape}")
        return array.astype(self._weights.dtype, copy=False)

    # The tangent kernel

    def tangent_kernel(self, X: Inputs, Y: ArrayLike | None = None, *, memory: int = MEMORY) -> Array:
        """K = J(X)·J(Y)ᵀ, by Jacobian products in blocks; `kernel_cost` says before what it will cost.

        Parameters
        ----------
        X : (N, …) array-like
            Inputs, samples first.
        Y : (N', …) array-like, optional
            Other inputs; X if left out.
        memory : int, optional
            No more than so many bytes of J are held.

        Returns
        -------
        (N·m, N'·m) array
            K, with the outputs of a sample side by side.
        """
        (X, m), Y = self._ready(X), None if Y is None else as_samples(Y, "Y")
        return tangent_kernel(self._backend, self._weights, X, Y, m, memory)

    def kernel_cost(self, X: Inputs, Y: ArrayLike | None = None, *, memory: int = MEMORY) -> KernelCost:
        """What `tangent_kernel` will take of memory and work.

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
        X, m = self._ready(X)
        others = None if Y is None else len(as_samples(Y, "Y"))
        return cost_of(self._backend, self._weights, X, others, m, memory)

    def kernel_distance(self, other: Network, X: Inputs) -> float:
        """1 − cos of the angle between the tangent kernels of this network and of other weights of it.

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
        """The angle between the tangent kernels of this network and of other weights of it.

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
        """How far other weights are from these, of each layer: ‖W' − W‖/‖W‖.

        Parameters
        ----------
        other : Network
            The same network with other weights.

        Returns
        -------
        dict of float
            By the name of the layer.
        """
        self._check_same(other)
        return movement(self.layers, self.weights, other.weights)

    def _check_same(self, other: Any) -> None:
        shapes = [(each.name, each.shape) for each in self.layers]
        if [(each.name, each.shape) for each in getattr(other, "layers", ())] != shapes:
            raise InputError(f"the other network must have the same layers as {self!r}, got {other!r}")

    # Layers and symmetries

    def balance(self) -> dict[str, float]:
        """‖W_{l+1}‖² − ‖W_l‖² of matrices and convolutions that follow each other, in their order."""
        from tacit.networks.chain import balance

        return balance(self._backend, self._weights)

    def imbalances(self) -> dict[str, Array]:
        """W_{l+1}ᵀW_{l+1} − W_lW_lᵀ − b_l b_lᵀ of layers that follow each other, (units, units) each.

        Gradient flow keeps them where nothing stands between the layers, as in a linear network, and their
        diagonals where a positively homogeneous activation does (`conserved` says which).
        """
        from tacit.networks.chain import links

        grams = {link.name: link.grams(self._weights) for link in links(self._backend)}
        return {name: out - into for name, (into, out) in grams.items()}

    def conserved(self, X: Inputs | None = None) -> dict[str, Array]:
        """What gradient flow keeps constant, as far as it follows from symmetries of the layers.

        Parameters
        ----------
        X : (N, …) array-like, optional
            Inputs at which symmetries are looked for (see `tacit.networks.symmetries`); random ones for the
            first layer if left out.

        Returns
        -------
        dict of arrays
            What is conserved, by name.
        """
        found = self.on(self._inputs(X)).parametrization.quantities
        return {each.name: each.value(self._weights)[0] for each in found}

    def homogeneity(self, X: Inputs) -> Homogeneity:
        """The degree L of f(cθ) = c^L f(θ), measured, and how well it fits.

        Parameters
        ----------
        X : (N, …) array-like
            Inputs, samples first.

        Returns
        -------
        Homogeneity
            The degree, the misfit, and whether it holds.
        """
        return homogeneity(lambda c: self.rescaled(c).outputs(X), str(self.weights.dtype))

    def rebalanced(self, X: Inputs | None = None) -> Network:
        """The same function with ‖W_1‖ = … = ‖W_L‖, biases rescaled with them.

        Parameters
        ----------
        X : (N, …) array-like, optional
            Inputs at which it is seen that the function is the same; random ones for the first layer if left
            out.

        Returns
        -------
        Network
            With these weights.

        Raises
        ------
        InputError
            Where the layers have no such symmetry.
        """
        found = self.with_weights(balanced(self._backend, self.weights))
        X = self._guessed_inputs() if X is None else X
        check_same(self.outputs(X), found.outputs(X), str(self.weights.dtype))
        return found

    def doubled(self) -> Network:
        """(f(θ₁, x) − f(θ₂, x))/√2 with θ₁ = θ₂ = θ: outputs of exactly 0, and the same tangent kernel.

        Chizat et al. 2019, Section 1.1 and Appendix A.
        """
        return Network._of(*self._backend.doubled(self._weights))

    # What a model is asked for

    def on(self, X: Inputs) -> Network:
        """The network as a model of these samples: its predictor are its outputs there."""
        bound = self.with_weights(self._weights)
        bound._on = kept(as_samples(X))
        return bound

    def _inputs(self, X: Any) -> Array:
        if X is not None:
            return as_samples(X)
        return self._guessed_inputs() if self._on is None else self._on

    def _guessed_inputs(self) -> Array:
        """Random inputs that the network takes; `InputError` where no guess fits."""
        for X in guessed_inputs(self._backend, self.weights.dtype):
            try:
                self.outputs(X)
            except InputError:
                continue
            return X
        raise InputError("what the network takes as inputs is not known: give some, X with samples first")

    @property
    def parametrization(self) -> OfNetwork:
        """Weights by layer ↦ outputs."""
        return OfNetwork(self._backend, self._on, self._quantities)

    @cached_property
    def _quantities(self) -> tuple[Conserved, ...]:
        return (
            () if self._on is None else conserved(self._backend, self._weights.astype(np.float64), self._on)
        )

    def kernel_work(self, X: Inputs) -> float:
        """Multiplications for a tangent kernel."""
        return self.kernel_cost(X).operations

    def predictor(self) -> Array:
        """The outputs at the samples that it is a model of."""
        return np.asarray(self.parametrization.predictor(self.start()))

    def start(self, d: int | None = None) -> Weights:
        """The weights of every layer, by name, in double precision."""
        return {layer.name: layer.of(self._weights).astype(np.float64) for layer in self.layers}

    def potential(self, d: int | None = None) -> Any:
        """Nobody knows."""
        raise NoPotentialError(
            "a network that is given as a function has no potential that is known: where its training ends "
            "no convex program tells; tacit.probe(network, X, y) says whether it learns features, and "
            "tacit.flow runs it"
        )
