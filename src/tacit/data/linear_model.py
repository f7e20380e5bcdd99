"""Fitted linear models in JSON files, and new samples for them. Reading a model runs no code."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats
from tacit.data.printable import short_name, shortened
from tacit.data.selection import EVERYTHING, SEARCHED, Selection, listed
from tacit.data.tables import as_matrix, check_names, kind_of, name_of, npz_arrays, read_columns
from tacit.errors import InputError

FORMAT, VERSION = "tacit linear model", 1
_HINT = "to make one, run tacit fit DATA --target COL --save MODEL.json"


@dataclass(frozen=True, eq=False)
class NewSamples:
    """Features in the order of the model, the target column or None, and names of unused columns."""

    X: Float
    target: Any
    unused: tuple[str, ...]
    assumed: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()


def read_new_samples(
    path: str | Path, features: Sequence[str], target: str, selection: Selection = EVERYTHING
) -> NewSamples:
    """Read the columns that a model needs from any file that `read_table` reads; "-": standard input.

    Columns are found by name, in any order. All features must be present; the target is optional. selection:
    columns that are not reported as unused, and the one that names the samples.
    """
    path = Path(path)
    kind = kind_of(path)
    if kind == ".npz":
        if selection != EVERYTHING:
            raise InputError(f"{path.name} has no named columns; leave out --drop and --index")
        return _from_npz(path, len(features))

    def first_feature(names: Sequence[str], where: str) -> int:
        check_names([names[i] for i in selection.kept(names, where)], where, names)
        _check_present(features, names, where)
        return list(names).index(features[0])

    found = read_columns(path, kind, first_feature)
    each = found.features.T if isinstance(found.features, np.ndarray) else found.features
    columns = {**dict(zip(found.names, each, strict=True)), features[0]: found.target}
    chosen = replace(found, names=list(features), features=[columns[name] for name in features])
    names, where = [*found.names[: found.place], features[0], *found.names[found.place :]], name_of(path)
    known = {*features, target}
    unused = tuple(names[i] for i in selection.kept(names, where) if names[i] not in known)
    truth = np.asarray(columns[target]) if target in columns else None
    index = selection.index_of(names, where)
    samples = () if index is None else found.texts(index)
    return NewSamples(as_matrix(chosen, where), truth, unused, found.assumed, samples)


def _check_present(features: Sequence[str], names: Sequence[str], where: str) -> None:
    present = set(names)
    missing = [name for name in features if name not in present]
    if not missing:
        return
    near = difflib.get_close_matches(missing[0], list(names)[:SEARCHED], n=1)
    hint = f"; did you mean {near[0]!r} instead of {missing[0]!r}?" if near else ""
    raise InputError(
        f"{where} lacks {len(missing):,} of the {len(features):,} features of the model: "
        f"{listed(missing)}{hint}"
    )


def _from_npz(path: Path, count: int) -> NewSamples:
    arrays = npz_arrays(path)
    if "X" not in arrays:
        raise InputError(f"{path.name} must contain an array X")
    X = as_floats(arrays["X"], "X", ndim=(2,))
    if X.shape[1] != count:
        raise InputError(f"X of {path.name} has {X.shape[1]:,} columns, but the model has {count:,} features")
    return NewSamples(X, arrays.get("y"), ())


@dataclass(frozen=True, eq=False)
class LinearModel:
    """f(x) = w·x + b with named features; a classifier predicts the class with the largest f.

    coefficients: (outputs, features); intercepts: (outputs,). classes: empty for regression; two classes have
    one output, which is positive for the second class, more classes have one output each. fit: information
    about the fit, for readers of the file.
    """

    features: tuple[str, ...]
    target: str
    coefficients: Float
    intercepts: Float
    classes: tuple[Any, ...] = ()
    fit: dict[str, Any] = field(default_factory=dict)

    def outputs(self, X: Float) -> Float:
        """Outputs, (samples, outputs). Raises `InputError` if one of them is outside the " "floating-point
        range."""
        with np.errstate(over="ignore", invalid="ignore"):
            outputs = np.asarray(X @ self.coefficients.T + self.intercepts)
        overflow = ~np.isfinite(outputs).all(axis=1)
        if overflow.any():
            row = int(overflow.argmax())
            column = int(np.abs(X[row]).argmax())
            raise InputError(
                f"the prediction for row {row + 1} leaves the floating-point range: its largest entry is "
                f"{X[row, column]:.3g}, in column {short_name(self.features[column], 40)!r}; check the units "
                "of the features"
            )
        return outputs

    def predict(self, X: Float) -> list[Any]:
        """The predicted number or class of each sample."""
        outputs = self.outputs(X)
        if not self.classes:
            return [float(value) for value in outputs[:, 0]]
        places = (outputs[:, 0] > 0).astype(int) if outputs.shape[1] == 1 else outputs.argmax(axis=1)
        return [self.classes[place] for place in places]

    def to_dict(self) -> dict[str, Any]:
        """The content of the JSON file."""
        from tacit import __version__

        return {"format": FORMAT, "version": VERSION, "tacit": __version__, **asdict(self)}


def read_model(path: str | Path) -> LinearModel:
    """Read a model from a JSON file written by `tacit fit --save`. Raises `InputError` for any other file."""
    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"no file at {shortened(str(path), 120)}; {_HINT}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a model file, because it is not JSON; {_HINT}") from error
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror})") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{path} is JSON, but not a model file; {_HINT}")
    if content.get("version") != VERSION:
        raise InputError(
            f"{path} has version {content.get('version')!r} of the format, but this Tacit reads version "
            f"{VERSION} only; the file was written by Tacit {content.get('tacit')}"
        )
    try:
        return _model(content)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is damaged: {_fault(error)}; fit it again") from error


def _model(content: dict[str, Any]) -> LinearModel:
    features, classes = _names(content["features"]), tuple(content["classes"])
    coefficients = np.array(content["coefficients"], dtype=np.float64)
    intercepts = np.array(content["intercepts"], dtype=np.float64)
    outputs = len(classes) if len(classes) > 2 else 1
    if len(classes) == 1 or not all(isinstance(each, str | int | float) for each in classes):
        raise ValueError("its classes are not two or more names or numbers")
    if coefficients.shape != (outputs, len(features)) or intercepts.shape != (outputs,):
        raise ValueError("the numbers of features, classes, coefficients and intercepts do not match")
    if not (np.isfinite(coefficients).all() and np.isfinite(intercepts).all()):
        raise ValueError("a coefficient or intercept is not finite")
    return LinearModel(
        features, str(content["target"]), coefficients, intercepts, classes, dict(content.get("fit", {}))
    )


def _names(names: Sequence[Any]) -> tuple[str, ...]:
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ValueError("its features have no names")
    if len(set(names)) < len(names):
        raise ValueError("two of its features have the same name")
    return tuple(names)


def _fault(error: Exception) -> str:
    return f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
