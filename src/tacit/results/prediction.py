"""Predictions at new inputs from a predictor or from weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats, feature_names
from tacit.data.entries import Entries, Inputs
from tacit.data.printable import short_name
from tacit.errors import InputError


class Predicting:
    """A result with a predictor w and an intercept b, which predicts f(x) = w·x + b at new inputs."""

    predictor: Any
    y: Float
    intercept: Any = 0.0
    features: tuple[str, ...] | None
    sign: int = 0
    model: Any = None

    def predict(self, X: Inputs) -> Float:
        """Predict the outputs at new inputs: f(x) = w·x + b, in the original units of the features.

        Parameters
        ----------
        X : (N, d) array-like
            Rows are samples; (N, d₁, d₂) or the entries of a matrix for models of matrices. If the data had
            named columns and X has, too, they are matched by name.

        Returns
        -------
        (N,) array
            Predictions; (N, m) for m outputs.

        Raises
        ------
        InputError
            If X has another number of features, lacks a named one, or contains entries that are not finite.
        """
        outputs = (
            linear_outputs(self.predictor, new_inputs(X, self.predictor, self.features)) + self.intercept
        )
        return np.asarray(activation(self.model, self.sign, outputs))


def activation(model: Any, sign: int, outputs: Float) -> Float:
    """a·σ(w·x) from outputs w̃·x of the predictor w̃ = a·w of a leaky neuron; other outputs are unchanged.

    Since σ is homogeneous, a·σ(w·x) = sign(a)·σ(sign(a)·w̃·x).
    """
    slope = getattr(getattr(model, "parametrization", None), "slope", 1.0)
    if slope == 1.0:
        return outputs
    turned = (sign or 1) * outputs
    return np.asarray((sign or 1) * np.maximum(turned, slope * turned))


def new_inputs(X: Any, predictor: Any, features: Sequence[str] | None) -> Any:
    """Validate new inputs of a predictor of shape (d,), (d, m) or (d₁, d₂); match named columns by name."""
    if isinstance(X, Entries):
        if X.shape != np.shape(predictor):
            raise InputError(
                f"X has entries of a {X.shape} matrix, but the predictor is {np.shape(predictor)}"
            )
        return X
    names = feature_names(X)
    if names is not None and features is not None and names != tuple(features):
        X = _matched(X, names, features)
    X = as_floats(X, "X", ndim=(2, 3) if np.ndim(predictor) == 2 else (2,))
    wanted = np.shape(predictor) if X.ndim == 3 else np.shape(predictor)[:1]
    if X.shape[1:] != wanted:
        raise InputError(
            f"X must have shape (N, {', '.join(map(str, wanted))}), as the data of this result, got {X.shape}"
        )
    return X


def _matched(X: Any, names: tuple[str, ...], features: Sequence[str]) -> Any:
    """The columns of a data frame in the order of the features."""
    places = {name: i for i, name in enumerate(names)}
    missing = [name for name in features if name not in places]
    if missing:
        shown = ", ".join(repr(short_name(name, 40)) for name in missing[:4])
        raise InputError(
            f"X lacks {len(missing)} of the {len(features)} features by name: {shown}"
            f"{', …' if len(missing) > 4 else ''}; pass X.to_numpy() if its columns are in the same order"
        )
    return X.iloc[:, [places[name] for name in features]]


def linear_outputs(predictor: Any, X: Any) -> Float:
    """X w; for matrices, ⟨X_n, M⟩."""
    if isinstance(X, Entries):
        return X.forward(predictor)
    return np.asarray(np.tensordot(X, predictor, axes=X.ndim - 1))
