"""Neurons and linear networks of one hidden layer: limits, the kernel end and the anti-kernel end."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.data.arrays import Float, beyond_squares
from tacit.data.equations import Samples
from tacit.models import Neuron
from tacit.numerics.kernel_comparison import cosine_distance
from tacit.potentials import NeuronPotential, Potential, Quadratic
from tacit.potentials.radial import length
from tacit.results.certificate import Certificate
from tacit.results.limit import Limit
from tacit.solvers.families import vectors
from tacit.solvers.families.ends import Ends
from tacit.solvers.families.vectors import doubt_with
from tacit.solvers.families.vectors import known as known
from tacit.solvers.flow_callback import Decider, Follow
from tacit.solvers.kkt import relative_residual, stationarity
from tacit.solvers.networks.linear import check_network, least_norm, least_norm_solution
from tacit.solvers.networks.neuron import as_it_ends, neuron_targets
from tacit.solvers.networks.rank_one import checked_rank_one

RICH_END, RICH = "ℓ2 (least norm)", "anti-kernel"
DECADES = vectors.DECADES
ENDS_MOVE = True
_ROUGHLY = 1e-6  # accuracy of the flow that tells how a kernel turns, of which three digits are shown


def as_data(model: Any, X: Any, y: Any) -> tuple[Float, Float]:
    """X as (N, d), y as (N,) or (N, m)."""
    X, Y = check_network(model, X, y)
    return X, Y[:, 0] if Y.shape[1] == 1 else Y


def aim(model: Any, X: Float, y: Float, follow: Follow) -> tuple[Potential, Float, int]:
    """The divergence from w̃(0), or from −w̃(0) where the output weight changes its sign."""
    potential: Potential = model.potential(X.shape[1])
    start = as_it_ends(model, X, y, follow)
    neuron = start.as_neuron()
    if start is not model:
        potential = start.potential()
    if neuron is None:
        return potential, y, 0
    return potential, neuron_targets(neuron, y), int(np.sign(neuron.output))


def certify(
    model: Any, X: Any, y: Any, predictor: Any, problem: str, tol: float, follow: Follow
) -> Certificate:
    """The conditions of the neuron that the model is; predictors of networks may be columns."""
    column = model.as_neuron() is not model
    return vectors.certify(model, X, y, predictor, problem, tol, follow, aim, column)


def limit(model: Any, X: Float, y: Float, samples: Samples, tol: float, follow: Follow) -> Limit:
    """Of a neuron, where the network is one; otherwise the solution of least norm, where it ends there."""
    decider, neuron = Decider(follow), model.as_neuron()
    if neuron is not None:
        found = vectors.limit(neuron, X, y, samples, tol, follow, aim)
        if neuron is model:
            return found
        w = found.predictor
        distance = checked_rank_one(X, y, w, model, neuron, tol, decider)
        method = decider.told(found.method, "that rounding of its weights does not grow")
        runs = found.flows + decider.runs
        return replace(found, predictor=w[:, None], model=model, distance=distance, method=method, flows=runs)
    Y = y.reshape(len(X), -1)
    solution, distance = least_norm(model, X, Y, samples, tol, decider)
    theta, nu = solution.predictor, solution.nu.value
    feasibility = relative_residual(X, Y, theta)
    kkt = stationarity(Quadratic(), X, theta, nu)
    return Limit(
        predictor=theta,
        dual=nu if Y.shape[1] > 1 else nu[:, 0],
        value=float(Quadratic().value(theta)),
        feasibility=feasibility,
        stationarity=kkt,
        iterations=solution.iterations,
        rank=len(samples.equations(Y[:, 0], tol).y),
        seconds=0.0,
        model=model,
        X=X,
        y=y,
        tol=float(tol),
        settled=solution.settled,
        method=decider.told("the solution of least norm", "that the network fits the data"),
        flows=decider.runs,
        distance=distance,
        _error=solution.estimate,
        _fits=bool(feasibility <= tol and kkt <= tol),
        _samples=samples,
    )


def has_ends(result: Any) -> bool:
    """They have both."""
    return True


def ends(result: Any) -> Ends:
    """The kernel end and the anti-kernel end, in the shape of the predictor.

    Kernel end: argmin (w̃−w̃₀)ᵀB(w̃−w̃₀) over the solutions, with B the inverse of the metric a²I + wwᵀ at the
    start, to which the potential tends as the shape tends to 1 (Azulay et al. 2021, Section 7.2 and Appendix
    F). That is where a linear model linearized at its start goes. Appendix F is about linear neurons; a leaky
    one has the same potential and the solutions of Xw̃ = σ⁻¹(y) (Theorem 4), and so the same B. Linearized, it
    would go there too if every sample starts on the side of the kink that its target asks for, and elsewhere
    if not: it keeps the gates of its start. Anti-kernel end: the solution of least norm, reached as the start
    vanishes (Theorem 3).
    """
    model, X = result.model, result.X
    neuron = model.as_neuron()
    if neuron is not None:
        shape = result.predictor.shape
        targets = neuron_targets(replace(neuron, output=result.sign), result.y)
        kernel = _kernel_end(neuron.weights[:, None], np.array([[neuron.output]]), X, targets[:, None])
        rich = least_norm_solution(result._samples, targets[:, None], 1e-8).predictor
        return Ends(kernel.reshape(shape), rich.reshape(shape))
    Y = result.y.reshape(len(X), -1)
    rich = least_norm_solution(result._samples, Y, 1e-8).predictor
    inner, outer = model.two_layers()
    return Ends(_kernel_end(inner, outer, X, Y), rich)


def _kernel_end(inner: Float, outer: Float, X: Float, Y: Float) -> Float:
    """Θ₀ + the least change of U and V, to first order, that fits Y.

    Outputs turned to the axes of VVᵀ do not mix: the metric of one with eigenvalue λ is λI + UUᵀ.
    """
    start = inner @ outer.T
    levels, turn = np.linalg.eigh(outer @ outer.T)
    missing = (Y - X @ start) @ turn
    seen = X @ inner
    change = np.empty_like(start)
    for j, level in enumerate(levels):
        root = np.hstack([math.sqrt(max(float(level), 0.0)) * X, seen])  # its Gram matrix is the kernel
        nu = np.linalg.lstsq(root.T, np.linalg.lstsq(root, missing[:, j], rcond=None)[0], rcond=None)[0]
        change[:, j] = level * (X.T @ nu) + inner @ (seen.T @ nu)
    return np.asarray(start + change @ turn.T, dtype=float)


def turning(result: Limit, ends: Ends, follow: Follow) -> float:
    """1 − cos of the angle between the tangent kernels at the start and at the end; NaN where none can tell.

    The weights that a neuron ends with follow from its predictor; those of a network only its flow tells.
    """
    model, X = result.model, result.X
    if beyond_squares(X, result.y):
        return math.nan
    neuron = model.as_neuron()
    if neuron is None:
        run = follow(model, X, result.y, rtol=_ROUGHLY)
        return run.final_kernel_distance if run.converged else math.nan
    predictor = result.predictor.ravel()
    a = result.sign * float(NeuronPotential(neuron.delta).layers(length(np, predictor))[0])
    if a == 0:
        return math.nan
    return cosine_distance(neuron.tangent_kernel(X), Neuron(a, predictor / a, neuron.slope).tangent_kernel(X))


def doubt(result: Limit) -> str:
    """Which samples or features leave the limit in doubt, in words: of several outputs, for the first."""
    if result.model.as_neuron() is result.model:
        return vectors.doubt(result)
    first = (each.reshape(len(each), -1)[:, 0] for each in (result.y, result.predictor, result.dual))
    return doubt_with(result, *first)
