"""A fitted linear model in a file: plain JSON that says what it is, and from which nothing is run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.printable import short_name, shortened
from tacit.errors import InputError

FORMAT, VERSION = "tacit linear model", 1
_MAKES_ONE = "tacit fit DATA --target COL --save MODEL.json makes one"


@dataclass(frozen=True, eq=False)
class LinearModel:
    """f(x) = w·x + b of features by name; for classes, the one whose f is largest.

    coefficients: (outputs, features), intercepts: (outputs,). classes: none for regression; two of them have
    one output, positive for the second, more have one each. fit: how it was found, for those who read it.
    """

    features: tuple[str, ...]
    target: str
    coefficients: Float
    intercepts: Float
    classes: tuple[Any, ...] = ()
    fit: dict[str, Any] = field(default_factory=dict)

    def outputs(self, X: Float) -> Float:
        """(samples, outputs); `InputError` where one of them leaves the range of floats."""
        with np.errstate(over="ignore", invalid="ignore"):
            outputs = np.asarray(X @ self.coefficients.T + self.intercepts)
        lost = ~np.isfinite(outputs).all(axis=1)
        if lost.any():
            row = int(lost.argmax())
            column = int(np.abs(X[row]).argmax())
            raise InputError(
                f"the prediction for row {row + 1} leaves the range of floats: its largest entry is "
                f"{X[row, column]:.3g}, in column {short_name(self.features[column], 40)!r}; check the units "
                "of the features"
            )
        return outputs

    def predict(self, X: Float) -> list[Any]:
        """A number for each sample, or a class."""
        outputs = self.outputs(X)
        if not self.classes:
            return [float(value) for value in outputs[:, 0]]
        places = (outputs[:, 0] > 0).astype(int) if outputs.shape[1] == 1 else outputs.argmax(axis=1)
        return [self.classes[place] for place in places]

    def to_dict(self) -> dict[str, Any]:
        """The content of the file."""
        from tacit import __version__

        return {"format": FORMAT, "version": VERSION, "tacit": __version__, **asdict(self)}


def read_model(path: str | Path) -> LinearModel:
    """The model in a JSON file that `tacit fit --save` has written; `InputError` if it is anything else."""
    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"no file at {shortened(str(path), 120)}; {_MAKES_ONE}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a model: it is no JSON; {_MAKES_ONE}") from error
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror})") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{path} is JSON, but no model; {_MAKES_ONE}")
    if content.get("version") != VERSION:
        raise InputError(
            f"{path} has version {content.get('version')!r} of the format, and this Tacit reads {VERSION}; "
            f"it was written by Tacit {content.get('tacit')}"
        )
    try:
        return _model(content)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is damaged: {_damage(error)}; fit it again") from error


def _model(content: dict[str, Any]) -> LinearModel:
    features, classes = _names(content["features"]), tuple(content["classes"])
    coefficients = np.array(content["coefficients"], dtype=np.float64)
    intercepts = np.array(content["intercepts"], dtype=np.float64)
    outputs = len(classes) if len(classes) > 2 else 1
    if len(classes) == 1 or not all(isinstance(each, str | int | float) for each in classes):
        raise ValueError("its classes are not classes")
    if coefficients.shape != (outputs, len(features)) or intercepts.shape != (outputs,):
        raise ValueError("features, classes and coefficients do not go together")
    if not (np.isfinite(coefficients).all() and np.isfinite(intercepts).all()):
        raise ValueError("a coefficient is not a number")
    return LinearModel(
        features, str(content["target"]), coefficients, intercepts, classes, dict(content.get("fit", {}))
    )


def _names(names: Sequence[Any]) -> tuple[str, ...]:
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ValueError("its features have no names")
    if len(set(names)) < len(names):
        raise ValueError("two of its features have the same name")
    return tuple(names)


def _damage(error: Exception) -> str:
    return f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
