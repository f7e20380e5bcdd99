"""Neurons and linear networks with one hidden layer: limits, kernel limit and anti-kernel limit."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.data.arrays import Float, beyond_squares
from tacit.data.equations import Samples
from tacit.models import Neuron
from tacit.numerics.subspaces import cosine_distance
from tacit.potentials import NeuronPotential, Potential, Quadratic
from tacit.potentials.radial import length
from tacit.results.certificate import Certificate
from tacit.results.limit import Limit
from tacit.solvers.families import vectors
from tacit.solvers.families.vectors import explain_output_error
from tacit.solvers.families.vectors import known as known
from tacit.solvers.interpolation.solution import Ends, FlowCounter, Follow, limit_result
from tacit.solvers.kkt import relative_residual, stationarity
from tacit.solvers.networks.bounds import checked_rank_one
from tacit.solvers.networks.linear import check_network, minimum_norm_columns, network_limit
from tacit.solvers.networks.neuron import neuron_targets, with_final_sign

RICH_END, RICH = "ℓ2 (least norm)", "anti-kernel"
DECADES = vectors.DECADES
ENDS_MOVE = True
_FLOW_RTOL = 1e-6  # tolerance of the flow that gives a kernel distance, of which three digits are shown
_TOL = 1e-8  # tolerance of the limits at infinite and zero scale


def as_data(model: Any, X: Any, y: Any) -> tuple[Float, Float]:
    """X as (N, d), y as (N,) or (N, m)."""
    X, Y = check_network(model, X, y)
    return X, Y[:, 0] if Y.shape[1] == 1 else Y


def objective(model: Any, X: Float, y: Float, follow: Follow) -> tuple[Potential, Float, int]:
    """The Bregman divergence from w̃(0), or from −w̃(0) if the output weight changes its sign."""
    potential: Potential = model.potential(X.shape[1])
    start = with_final_sign(model, X, y, follow)
    neuron = start.as_neuron()
    if start is not model:
        potential = start.potential()
    if neuron is None:
        return potential, y, 0
    return potential, neuron_targets(neuron, y), int(np.sign(neuron.output))


def certify(
    model: Any, X: Any, y: Any, predictor: Any, problem: str, tol: float, follow: Follow
) -> Certificate:
    """The residuals of the equivalent neuron; predictors of networks may be columns."""
    column = model.as_neuron() is not model
    return vectors.certify(model, X, y, predictor, problem, tol, follow, objective, column)


def limit(model: Any, X: Float, y: Float, samples: Samples, tol: float, follow: Follow) -> Limit:
    """The limit of the equivalent neuron if there is one, otherwise the minimum-norm solution.

    Raises `NoPotentialError` if the network does not converge to the latter.
    """
    flows, neuron = FlowCounter(follow), model.as_neuron()
    if neuron is not None:
        found = vectors.limit(neuron, X, y, samples, tol, follow, objective)
        if neuron is model:
            return found
        w = found.predictor
        distance = checked_rank_one(X, y, w, model, neuron, tol, flows)
        method = flows.describe(found.method, "that round-off in its weights does not grow")
        runs = found.flows + flows.runs
        return replace(found, predictor=w[:, None], model=model, distance=distance, method=method, flows=runs)
    Y = y.reshape(len(X), -1)
    solution, distance = network_limit(model, X, Y, samples, tol, flows)
    theta, nu = solution.predictor, solution.nu.value
    feasibility = relative_residual(X, Y, theta)
    kkt = stationarity(Quadratic(), X, theta, nu)
    return limit_result(
        solution,
        (model, X, y, tol),
        dual=nu if Y.shape[1] > 1 else nu[:, 0],
        value=float(Quadratic().value(theta)),
        feasibility=feasibility,
        stationarity=kkt,
        rank=len(samples.equations(Y[:, 0], tol).y),
        method=flows.describe("the minimum-norm solution", "that the network fits the data"),
        flows=flows.runs,
        distance=distance,
        _fits=bool(feasibility <= tol and kkt <= tol),
        _samples=samples,
    )


def has_ends(result: Any) -> bool:
    """True: the scale of the weights."""
    return True


def ends(result: Any) -> Ends:
    """The kernel and the anti-kernel limit, in the shape of the predictor.

    Kernel limit: argmin (w̃−w̃₀)ᵀB(w̃−w̃₀) over the solutions, with B the inverse of the tangent metric a²I +
    wwᵀ at initialization. The potential tends to this as the shape tends to 1 (Azulay et al. 2021, Section
    7.2 and Appendix F), and the model linearized at initialization converges to it. Appendix F treats linear
    neurons. A leaky neuron has the same potential and the constraints Xw̃ = σ⁻¹(y) (Theorem 4), hence the same
    B; its linearization, whose activation pattern is fixed, converges there only if every sample starts on
    the side of the kink that its target requires. Anti-kernel limit: the minimum-norm solution, reached as
    the initialization vanishes (Theorem 3).
    """
    model, X = result.model, result.X
    neuron = model.as_neuron()
    if neuron is not None:
        shape = result.predictor.shape
        targets = neuron_targets(replace(neuron, output=result.sign), result.y)
        kernel = _kernel_end(neuron.weights[:, None], np.array([[neuron.output]]), X, targets[:, None])
        rich = minimum_norm_columns(result._samples, targets[:, None], _TOL).predictor
        return Ends(kernel.reshape(shape), rich.reshape(shape))
    Y = result.y.reshape(len(X), -1)
    rich = minimum_norm_columns(result._samples, Y, _TOL).predictor
    inner, outer = model.two_layers()
    return Ends(_kernel_end(inner, outer, X, Y), rich)


def _kernel_end(inner: Float, outer: Float, X: Float, Y: Float) -> Float:
    """Θ₀ plus the effect of the smallest change of U and V that fits Y to first order.

    In the eigenbasis of VVᵀ the outputs decouple; an output with eigenvalue λ has the metric λI + UUᵀ.
    """
    start = inner @ outer.T
    levels, turn = np.linalg.eigh(outer @ outer.T)
    missing = (Y - X @ start) @ turn
    seen = X @ inner
    change = np.empty_like(start)
    for j, level in enumerate(levels):
        root = np.hstack([math.sqrt(max(float(level), 0.0)) * X, seen])  # root·rootᵀ is the kernel
        nu = np.linalg.lstsq(root.T, np.linalg.lstsq(root, missing[:, j], rcond=None)[0], rcond=None)[0]
        change[:, j] = level * (X.T @ nu) + inner @ (seen.T @ nu)
    return np.asarray(start + change @ turn.T, dtype=float)


def kernel_distance(result: Limit, ends: Ends, follow: Follow) -> float:
    """1 − cosine of the tangent kernels at initialization and at the limit; NaN if unknown.

    The final weights of a neuron follow from its predictor; those of a network require a flow.
    """
    model, X = result.model, result.X
    if beyond_squares(X, result.y):
        return math.nan
    neuron = model.as_neuron()
    if neuron is None:
        run = follow(model, X, result.y, rtol=_FLOW_RTOL)
        return run.final_kernel_distance if run.converged else math.nan
    predictor = result.predictor.ravel()
    a = result.sign * float(NeuronPotential(neuron.delta).layers(length(np, predictor))[0])
    if a == 0:
        return math.nan
    return cosine_distance(neuron.tangent_kernel(X), Neuron(a, predictor / a, neuron.slope).tangent_kernel(X))


def explain_error(result: Limit) -> str:
    """Name the samples or features that leave the limit undetermined, for the first output."""
    if result.model.as_neuron() is result.model:
        return vectors.explain_error(result)
    first = (each.reshape(len(each), -1)[:, 0] for each in (result.y, result.predictor, result.dual))
    return explain_output_error(result, *first)
