"""Class probabilities from decision values, by Platt scaling on held-out samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from tacit.data.arrays import Float
from tacit.errors import InputError

FOLDS = 5  # folds of scikit-learn's default cross-validation
_GRADIENT = 1e-10  # gradient, relative to the total weight, at which the search for a sigmoid ends
_TIE = 1e-9  # relative excess of the predicted class, which breaks ties in its favour beyond round-off


@dataclass(frozen=True, eq=False)
class HeldOutValues:
    """Decision values (samples, 1 or classes) of held-out samples, their class indices and weights."""

    values: Float
    codes: Any
    weights: Float | None

    @classmethod
    def joined(cls, parts: Sequence[HeldOutValues]) -> HeldOutValues:
        """The samples of all parts."""
        weights = [part.weights for part in parts if part.weights is not None]
        return cls(
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.codes for part in parts]),
            np.concatenate(weights) if weights else None,
        )


@dataclass(frozen=True, eq=False)
class Calibration:
    """One sigmoid 1/(1 + exp(−slope·f − offset)) for two classes, or one for each class."""

    slopes: Float
    offsets: Float

    @classmethod
    def of(cls, held_out: HeldOutValues) -> Calibration:
        """Platt scaling: a logistic fit of every class against the others."""
        f, codes = held_out.values, held_out.codes
        weights = np.ones(len(f)) if held_out.weights is None else held_out.weights
        own = [codes == 1] if f.shape[1] == 1 else [codes == code for code in range(f.shape[1])]
        slopes, offsets = zip(
            *(_sigmoid(f[:, k], is_own, weights) for k, is_own in enumerate(own)), strict=True
        )
        return cls(np.array(slopes), np.array(offsets))

    def probabilities(self, values: Float, predicted: Any) -> Float:
        """Probabilities (samples, classes) from decision values (samples, 1 or classes).

        predicted: the predicted class of each sample. Where another class has a larger probability, which
        happens near the decision boundary, the predicted class is raised to it, so that both agree.
        """
        p = expit(values * self.slopes + self.offsets)
        if p.shape[1] == 1:
            p = np.hstack([1 - p, p])
        rows, codes = np.arange(len(p)), p.argmax(axis=1)
        raised = p.max(axis=1) * (1 + _TIE)
        p[rows, predicted] = np.where(codes == predicted, p[rows, predicted], raised)
        total = p.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(p, total))


def _sigmoid(f: Float, own: Any, weights: Float) -> tuple[float, float]:
    """Slope and offset of the best logistic fit with slope ≥ 0, to the targets of Platt (1999).

    The targets (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2) keep the sigmoid finite if f separates the samples.
    """
    up, down = float(weights[own].sum()), float(weights[~own].sum())
    targets = np.where(own, (up + 1) / (up + 2), 1 / (down + 2))
    size = float(np.sqrt(np.average(f**2, weights=weights))) or 1.0
    shares, z = weights / (up + down), f / size

    def loss(parameters: Any) -> Any:
        outputs = parameters[0] * z + parameters[1]
        wrong = shares * (expit(outputs) - targets)
        value = float(shares @ (np.logaddexp(0, outputs) - targets * outputs))
        return value, np.array([wrong @ z, wrong.sum()])

    options: Any = {"gtol": _GRADIENT, "ftol": 0.0}
    start: Any = np.array([0.0, np.log((up + 1) / (down + 1))])
    bounds: Any = [(0.0, None), (None, None)]
    slope, offset = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    return float(slope) / size, float(offset)


def check_classes(codes: Any, weights: Float | None, classes: Any) -> None:
    """Raise `InputError` if these training samples of a fold lack a class."""
    present = codes if weights is None else codes[weights > 0]
    missing = np.setdiff1d(np.arange(len(classes)), present)
    if missing.size:
        raise InputError(
            f"a fold of cv has no training samples of class {classes.tolist()[missing[0]]!r}: use fewer folds"
        )


@dataclass(eq=False)
class CalibrationAtUse:
    """The calibration of a fit, computed when probabilities are first asked for.

    held_out: the decision values, or a function that computes them.
    """

    held_out: HeldOutValues | Callable[[], HeldOutValues]
    _found: Calibration | None = None

    def __call__(self) -> Calibration:
        if self._found is None:
            held_out = self.held_out if isinstance(self.held_out, HeldOutValues) else self.held_out()
            self._found = Calibration.of(held_out)
        return self._found
