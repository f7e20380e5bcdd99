"""Summaries of fitted estimators, as printed by `tacit fit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.prepared import Design
from tacit.show.text import aligned, count, equations, sizes, top_features

if TYPE_CHECKING:
    from tacit.data.tables import Table

_CLASSES = 6  # whose features are printed


def fit_report(estimator: Any, table: Table) -> str:
    """Summarize a fitted estimator: data, initialization, score, predictor and certificate."""
    samples, features = table.X.shape
    rows = np.atleast_2d(estimator.coef_)
    lines = {
        "data": f"{count(samples, 'sample')} × {count(features, 'feature')}{_classes(estimator)}",
        "start": _start(estimator),
        "fit": _fit(estimator),
        **_score(estimator, table),
        "predictor": sizes(rows * Design(table.X, standardize=estimator.standardize).scale, None),
        **_features(estimator, rows, table),
        "intercept": "b = " + ", ".join(f"{b:.6g}" for b in np.ravel(estimator.intercept_)),
        "certificate": _certificate(estimator),
    }
    return aligned(lines)


def _classes(estimator: Any) -> str:
    classes = getattr(estimator, "classes_", None)
    return "" if classes is None else f", {len(classes)} classes"


def _start(estimator: Any) -> str:
    """Depth and scale relative to the data, and how they were chosen."""
    scale, depth = (_of(estimator, name) for name in ("scale", "depth"))
    by = "chosen by cross-validation" if hasattr(estimator, "cv_results_") else "as given"
    return f"{equations(depth=f'{depth:g}', scale=f'{scale:.3g}')} (relative to the data), {by}"


def _of(estimator: Any, name: str) -> Any:
    """The chosen value of a parameter if there is one, else the given value."""
    return getattr(estimator, f"{name}_", None) or getattr(estimator, name, None)


def _fit(estimator: Any) -> str:
    loss = getattr(estimator, "loss_", None)
    stop = _of(estimator, "stop")
    if loss == "margin":
        return "maximum-margin predictor"
    if loss == "square":
        ended = "limit" if stop is None else f"stopped at {stop:.3g} of the initial loss"
        return f"flow of the square loss on labels −1 and 1, {ended}"
    if loss is not None:
        apart = "" if estimator.separable_ else "; the classes are not linearly separable"
        stopped = "" if stop is None else f", stopped at {stop:.3g} of the possible decrease of the loss"
        return f"flow of the {loss} loss{stopped}{apart}"
    if estimator.stopped_:
        return f"flow, stopped when the training loss is {stop:.3g} of that of a constant"
    return (
        "limit; all samples are fitted"
        if estimator.interpolates_
        else "limit; least squares, because no predictor fits all samples"
    )


def _score(estimator: Any, table: Table) -> dict[str, str]:
    """The cross-validated score, and that of a constant predictor for comparison."""
    if not hasattr(estimator, "best_score_"):
        return {}
    folds = f"{estimator.n_splits_} folds"
    if hasattr(estimator, "classes_"):
        common = np.unique(table.y, return_counts=True)[1].max() / len(table.y)
        share = f"accuracy = {estimator.best_score_:.1%} ({folds})"
        return {"score": f"{share}; share of the most frequent class = {common:.1%}"}
    rmse, spread = np.sqrt(-estimator.best_score_), table.y.std()
    return {"score": f"RMSE = {rmse:.4g} ({folds}); standard deviation of the target = {spread:.4g}"}


def _features(estimator: Any, rows: Any, table: Table) -> dict[str, str]:
    """The features that contribute most, for every class if there are several."""
    units = Design(table.X, standardize=True).units(table.y)
    if len(rows) == 1:
        return {"features": top_features(rows[0], table.features, units)}
    names = [f"for {name}" for name in estimator.classes_]
    shown = {name: top_features(row, table.features, units) for name, row in zip(names, rows, strict=True)}
    return dict(list(shown.items())[:_CLASSES])


def _certificate(estimator: Any) -> str:
    found = estimator.certificate_
    each = found if isinstance(found, tuple) else (found,)
    worst = max(float(one.stationarity) for one in each)
    margin = getattr(estimator, "loss_", "") == "margin"
    optimal = "maximum margin" if margin else "minimum of Q for these outputs"
    state = "holds" if all(one.holds for one in each) else "DOES NOT HOLD"
    return f"{state} ({optimal}), stationarity = {worst:.0e}"
