"""Maximum-margin paths of many data sets at once."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, as_floats, as_numeric
from tacit.errors import InputError, TacitError
from tacit.models.model import Model
from tacit.results.margin_paths import MarginPaths
from tacit.results.paths import MarginPath
from tacit.verbs.margin_path import margin_path


def margin_paths(
    X: ArrayLike,
    y: ArrayLike,
    mu: ArrayLike,
    *,
    depth: float = 2,
    model: Model | None = None,
    intercept: bool = False,
    standardize: bool = False,
) -> MarginPaths:
    """Compute `tacit.margin_path` for many data sets, on all cores: argmin Q_μ(w) with margins of at least 1.

    X and y are broadcast against each other; all problems have the same values of μ.

    Parameters
    ----------
    X : (N, d) or (B, N, d) array-like
        Rows are samples.
    y : (N,) or (B, N) array-like
        Two classes, as for `tacit.max_margin`.
    mu : sequence of float
        Positive numbers in any order.
    depth, model, intercept, standardize : optional
        As for `tacit.margin_path`.

    Returns
    -------
    MarginPaths
        Arrays of predictors, multipliers and certificates, one row for each problem. A problem that raises an
        error, such as classes that no predictor separates, does not stop the others: `errors` names it.

    Raises
    ------
    InputError
        If the shapes do not match, or mu is invalid.

    See Also
    --------
    margin_path : One data set.
    limits : The limits of the square loss of many problems.

    Examples
    --------
    >>> import tacit
    >>> X, y = [[[1, 2], [-2, -3]], [[1, 2], [1, 2]]], [1, -1]
    >>> paths = tacit.margin_paths(X, y, [1.0, 0.1])
    >>> paths[0].converged.all(), sorted(paths.errors)
    (np.True_, [1])
    """
    begun = time.perf_counter()
    inputs, targets = as_numeric(X, "X"), np.asarray(y)
    if inputs.ndim not in (2, 3) or targets.ndim not in (1, 2):
        raise InputError(
            "X must be (N, d) or (B, N, d) and y (N,) or (B, N), got the shapes "
            f"{inputs.shape} and {targets.shape}"
        )
    levels = np.atleast_1d(as_floats(mu, "mu", ndim=(0, 1)))
    try:
        (count,) = np.broadcast_shapes(inputs.shape[:-2], targets.shape[:-1]) or (1,)
    except ValueError:
        raise InputError(
            f"X and y must have the same number of problems, got {inputs.shape[0]} and {targets.shape[0]}"
        ) from None
    Xs = np.broadcast_to(inputs, (count, *inputs.shape[-2:]))
    ys = np.broadcast_to(targets, (count, targets.shape[-1]))

    def solve(place: int) -> MarginPath | TacitError:
        options: dict[str, Any] = {"intercept": intercept, "standardize": standardize}
        try:
            return margin_path(Xs[place], ys[place], levels, depth=depth, model=model, **options)
        except TacitError as error:
            return error

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        answers = dict(enumerate(pool.map(solve, range(count))))
    errors = {place: each for place, each in answers.items() if isinstance(each, TacitError)}
    if len(errors) == count == 1 or not (levels.size and (levels > 0).all()):
        raise next(iter(errors.values()))
    paths: dict[int, Any] = {place: each for place, each in answers.items() if place not in errors}

    def stacked(name: str, *shape: int) -> Float:
        nothing = np.full((len(levels), *shape), np.nan)
        return np.array([getattr(paths[i], name) if i in paths else nothing for i in range(count)])

    samples, features = Xs.shape[1:]
    return MarginPaths(
        mu=levels,
        predictors=stacked("predictors", features),
        duals=stacked("duals", samples),
        kkt=stacked("kkt"),
        error=stacked("error"),
        converged=np.nan_to_num(stacked("converged")).astype(bool),
        errors=errors,
        seconds=time.perf_counter() - begun,
        _paths=paths,
    )
