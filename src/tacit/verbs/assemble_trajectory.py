"""Make a `Trajectory` from the recorded states of a flow."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.units import Units
from tacit.flows.driver import Recording
from tacit.flows.fitting import Fitting
from tacit.flows.form import Form, Observation, Problem
from tacit.flows.goals import Goal
from tacit.models.parametrizations import Weights
from tacit.potentials.arrays import quiet
from tacit.results.trajectory import SeenWeights, Trajectory, predictors


def assemble(
    recording: Recording,
    goal: Goal,
    form: Form,
    fit: Fitting,
    problem: Problem,
    linearized: bool,
    begun: float,
    area: Callable[[], float],
) -> Trajectory:
    """Make the trajectory of a recording. problem: the one before the restriction to the part that the model
    can fit."""
    start = form.observe(form.begin())
    seen = [form.observe(state) for state in recording.states]
    shares = None if seen[0].shares is None else np.array([each.shares for each in seen])
    return Trajectory(
        accuracy=_accuracies(recording, goal, form, fit),
        predictor=predictors(seen),
        outputs=np.array([fit.outputs(each.outputs) for each in seen]),
        drifts={} if linearized else _drifts(form.parametrization, start, seen),
        converged=recording.converged,
        reason=recording.reason,
        status=recording.status,
        intercept=np.zeros((len(seen), *problem.y.shape[1:])),
        unfitted=fit.unfitted,
        method=f"{form.name}: {form.premise.description}",
        uses_potential=form.premise.uses_potential,
        steps=recording.steps,
        seconds=time.perf_counter() - begun,
        linearized=linearized,
        loss_function=problem.loss,
        model=problem.model,
        X=problem.X,
        y=problem.y,
        _times=_times(recording, goal, form),
        _shares=shares,
        _weights=SeenWeights([each.weights for each in seen], form.restore),
        _kernels=_kernel_distances(form, start, seen, linearized),
        _area=area,
    )


def in_original_units(trajectory: Trajectory, units: Units, X: Float, y: Float) -> Trajectory:
    """Transform a trajectory for centred or standardized data back to the original X and y."""
    predictor = np.array([units.predictor(w) for w in trajectory.predictor])
    return replace(
        trajectory,
        predictor=predictor,
        intercept=np.array([units.shift(w) for w in predictor]),
        outputs=trajectory.outputs + units.target,
        X=X,
        y=y,
        units=units,
    )


def _accuracies(recording: Recording, goal: Goal, form: Form, fit: Fitting) -> Float:
    """−log of the loss over all samples; exactly the requested accuracies, if any were requested."""
    if goal.timed:
        y, loss = fit.problem.y, fit.problem.loss
        levels = [float(loss.accuracy(form.outputs(state), y)) for state in recording.states]
        return np.array([fit.accuracy(level) for level in levels])
    requested = goal.marks or {}
    return np.array([requested.get(level, fit.accuracy(level)) for level in recording.marks], dtype=float)


def _times(recording: Recording, goal: Goal, form: Form) -> Callable[[], tuple[Float, Float]]:
    """A function that computes times and their logarithms; exactly the requested times, if there are any."""
    requested = goal.marks if goal.timed and goal.marks is not None else {}

    @quiet
    def times() -> tuple[Float, Float]:
        logs = [
            np.log(requested[mark]) if mark in requested else form.log_time(state)
            for state, mark in zip(recording.states, recording.marks, strict=True)
        ]
        found = [requested.get(mark, np.exp(log)) for mark, log in zip(recording.marks, logs, strict=True)]
        return np.array(found, dtype=float), np.array(logs, dtype=float)

    return times


def _drifts(parametrization: Any, start: Observation, seen: list[Observation]) -> dict[str, Float]:
    """The change of each conserved quantity, relative to the size of the terms it is made of."""
    before = parametrization.invariants(start.weights)
    after = [parametrization.invariants(each.weights) for each in seen]
    return {name: np.array([_relative(now[name], before[name][0]) for now in after]) for name in before}


def _relative(now: tuple[Float, Float], before: Float) -> float:
    value, size = now
    change = np.abs(value - before)
    return float(np.max(np.where(change > 0, change / np.where(size > 0, size, 1.0), 0.0)))


def _kernel_distances(
    form: Form, start: Observation, seen: list[Observation], linearized: bool
) -> Callable[[slice], Float]:
    """A function that computes 1 − cos∠(K(0), K(t)) of tangent kernels, for a slice of the recorded times."""

    @quiet
    def distances(which: slice) -> Float:
        if linearized:
            return np.zeros(len(seen[which]))
        first = _direction(form, start.weights)
        turned = [np.sum((_direction(form, each.weights) - first) ** 2) / 2 for each in seen[which]]
        return np.array(turned)

    return distances


def _direction(form: Form, weights: Weights) -> Float:
    """The tangent kernel divided by its Frobenius norm.

    Tiny weights are rescaled first, because products of them would underflow.
    """
    largest = max(float(np.abs(weight).max()) for weight in weights.values()) or 1.0
    largest = largest if form.parametrization.homogeneous else 1.0
    kernel = form.parametrization.kernel({name: w / largest for name, w in weights.items()}, form.X)
    return np.asarray(kernel / (np.linalg.norm(kernel) or 1.0))
