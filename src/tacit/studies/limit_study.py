"""The function of a study in a file: measures of limits on a table or on random problems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.problems import SparseRegression, sparse_regression
from tacit.errors import InputError, NotConvergedError
from tacit.models import Diagonal, UntiedDiagonal
from tacit.results.limit import Limit
from tacit.verbs.limit import limit

# Families of models with their parameters; units of the data; parameters of random problems with their types.
MODELS: dict[str, dict[str, type]] = {
    "diagonal": {"depth": float, "scale": float, "log_scale": float},
    "untied": {"scale": float, "shape": float},
}
UNITS = ("intercept", "standardize")
GENERATORS: dict[str, dict[str, type]] = {
    "sparse": {"samples": int, "features": int, "nonzero": int, "noise": float, "draw": int},
}
_CLASSES: dict[str, Callable[..., Any]] = {"diagonal": Diagonal, "untied": UntiedDiagonal}


def _population_error(found: Limit, problem: Any) -> float:
    """‖w − w*‖², the excess test error on Gaussian features."""
    return float(problem.population_error(found.predictor))


MEASURES: dict[str, Callable[[Limit, Any], Any]] = {
    "population_error": _population_error,
    "l1_norm": lambda found, _: np.abs(found.predictor).sum(),
    "l2_norm": lambda found, _: np.linalg.norm(found.predictor),
    "distance_to_kernel": lambda found, _: found.regime.distance_to_kernel,
    "distance_to_rich": lambda found, _: found.regime.distance_to_rich,
    "regime": lambda found, _: found.regime.name,
    "value": lambda found, _: found.value,
    "limit_error": lambda found, _: found.error,
    "stationarity": lambda found, _: found.stationarity,
    "feasibility": lambda found, _: found.feasibility,
    "steps": lambda found, _: found.iterations,
    "predictor": lambda found, _: found.predictor,
}
GENERATED = ("population_error",)  # measures that need the true predictor


@dataclass(frozen=True, eq=False)
class LimitStudy:
    """A function of the varied parameters. fixed: the others; data: X and y, or None for random problems."""

    family: str
    fixed: dict[str, Any]
    measures: tuple[str, ...]
    data: tuple[Float, Float] | None = None
    units: dict[str, Any] = field(default_factory=dict)

    def __call__(self, **point: Any) -> dict[str, Any]:
        """The measures of the limit at a point; raises if it did not converge."""
        values = {**self.fixed, **point}
        problem: Any = None
        if self.data is None:
            problem = _problem(
                *(values.get(name) for name in ("samples", "features", "nonzero", "noise")),
                values.get("problem_seed", 0) + values.get("draw", 0),
            )
            X, y = problem.X, problem.y
        else:
            X, y = self.data
        model = _CLASSES[self.family](
            **{name: values[name] for name in MODELS[self.family] if name in values}
        )
        found = limit(model, X, y, **self.units)
        if not found.converged:
            raise NotConvergedError(f"the limit did not converge: {found.reason}")
        return {name: MEASURES[name](found, problem) for name in self.measures}


@lru_cache(maxsize=32)  # neighbouring points have the same problem, whose factorizations are kept with it
def _problem(samples: Any, features: Any, nonzero: Any, noise: Any, seed: int) -> SparseRegression:
    if samples is None or features is None:
        raise InputError("random problems need samples and features")
    more = {name: value for name, value in (("nonzero", nonzero), ("noise", noise)) if value is not None}
    return sparse_regression(samples, features, seed=seed, **more)
