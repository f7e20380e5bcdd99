"""From recorded states to a trajectory: what was conserved, and how the tangent kernel turned."""

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
from tacit.results.predictors import predictors
from tacit.results.trajectory import SeenWeights, Trajectory


def assemble(
    recording: Recording,
    goal: Goal,
    form: Form,
    fit: Fitting,
    problem: Problem,
    linearized: bool,
    begun: float,
) -> Trajectory:
    """The trajectory of a recording; problem: as it was given."""
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
    )


def as_given(trajectory: Trajectory, units: Units, X: Float, y: Float) -> Trajectory:
    """A trajectory of centred or standardized data, told for X and y as they came."""
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
    """−log of the loss of all samples: exactly as asked for, where an accuracy was."""
    if goal.timed:
        y, loss = fit.problem.y, fit.problem.loss
        levels = [float(loss.accuracy(form.outputs(state), y)) for state in recording.states]
        return np.array([fit.accuracy(level) for level in levels])
    asked = goal.marks or {}
    return np.array([asked.get(level, fit.accuracy(level)) for level in recording.marks], dtype=float)


def _times(recording: Recording, goal: Goal, form: Form) -> Callable[[], tuple[Float, Float]]:
    """Time and its logarithm, when somebody wants to know: exactly as asked for, where a time was."""
    asked = goal.marks if goal.timed and goal.marks is not None else {}

    @quiet
    def times() -> tuple[Float, Float]:
        seen = list(zip(recording.states, recording.marks, strict=True))
        logs = [np.log(asked[mark]) if mark in asked else form.log_time(state) for state, mark in seen]
        told = [asked.get(mark, np.exp(log)) for (_, mark), log in zip(seen, logs, strict=True)]
        return np.array(told, dtype=float), np.array(logs, dtype=float)

    return times


def _drifts(parametrization: Any, start: Observation, seen: list[Observation]) -> dict[str, Float]:
    """The change of each conserved quantity, relative to the size of the terms that make it."""
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
    """1 − cos of the angle between the tangent kernels of the start and of each observation."""

    @quiet
    def distances(which: slice) -> Float:
        if linearized:
            return np.zeros(len(seen[which]))
        first = _direction(form, start.weights)
        turned = [np.sum((_direction(form, each.weights) - first) ** 2) / 2 for each in seen[which]]
        return np.array(turned)

    return distances


def _direction(form: Form, weights: Weights) -> Float:
    """The tangent kernel with Frobenius norm 1; the weights are scaled so that no power of them vanishes."""
    largest = max(float(np.abs(weight).max()) for weight in weights.values()) or 1.0
    largest = largest if form.parametrization.homogeneous else 1.0
    kernel = form.parametrization.kernel({name: w / largest for name, w in weights.items()}, form.X)
    return np.asarray(kernel / (np.linalg.norm(kernel) or 1.0))
