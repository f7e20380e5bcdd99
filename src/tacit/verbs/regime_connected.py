"""Kernel, anti-kernel, or in between: the regimes of neurons and linear networks."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tacit.data.arrays import Float
from tacit.models import Neuron
from tacit.numerics.angles import turned
from tacit.potentials import NeuronPotential
from tacit.potentials.radial import length
from tacit.results.limit import Limit
from tacit.solvers.networks.linear import least_norm_solution
from tacit.solvers.networks.neuron import neuron_targets
from tacit.verbs.flow import flow

_ROUGHLY = 1e-6  # how accurate the flow of a network need be that tells how its kernel turns


def connected_ends(result: Limit) -> tuple[Float, Float]:
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
        kernel = kernel_end(neuron.weights[:, None], np.array([[neuron.output]]), X, targets[:, None])
        rich = least_norm_solution(result._samples, targets[:, None], 1e-8).predictor
        return kernel.reshape(shape), rich.reshape(shape)
    Y = result.y.reshape(len(X), -1)
    rich = least_norm_solution(result._samples, Y, 1e-8).predictor
    inner, outer = model.two_layers()
    return kernel_end(inner, outer, X, Y), rich


def kernel_end(inner: Float, outer: Float, X: Float, Y: Float) -> Float:
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


def kernel_turning(result: Limit) -> float:
    """1 − cos of the angle between the tangent kernels at the start and at the end.

    The weights that a neuron ends with follow from its predictor; those of a network only its flow tells.
    """
    model, X = result.model, result.X
    neuron = model.as_neuron()
    if neuron is None:
        run = flow(model, X, result.y, rtol=_ROUGHLY)
        return run.final_kernel_distance if run.converged else math.nan
    predictor = result.predictor.ravel()
    size = float(NeuronPotential(neuron.delta).layers(length(np, predictor))[0])
    a = result.sign * size
    if a == 0:
        return math.nan
    return turned(neuron.tangent_kernel(X), Neuron(a, predictor / a, neuron.slope).tangent_kernel(X))
