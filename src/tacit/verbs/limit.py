"""Where gradient flow on the square loss ends."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, check_squares, check_tolerance, feature_names, kept
from tacit.data.equations import Samples
from tacit.data.inputs import Inputs
from tacit.data.prepared import Design, design_of
from tacit.errors import InconsistentDataError, InputError
from tacit.models.model import Model, check_model, check_units, is_linear
from tacit.potentials import Potential
from tacit.results.limit import Limit
from tacit.solvers.table import Family, table_row
from tacit.verbs.flow import flow


def limit(
    model: Model | Potential,
    X: Inputs,
    y: ArrayLike,
    *,
    tol: float = 1e-10,
    intercept: bool = False,
    standardize: bool = False,
    least_squares: bool = False,
) -> Limit:
    """argmin Q(w) subject to X w = y: where gradient flow on the square loss ends, without running it.

    Q is the potential of the model at its initialization (Woodworth et al. 2020, Theorems 1 and 3; Azulay et
    al. 2021, Theorems 1, 2 and 4). Samples or features that nearly coincide are solved for in twice the
    digits of floats, and doubted where their last bits decide. The result keeps its own copy of X and y, for
    its regime, unless they are larger than 64 MB: then do not change them while it is in use.

    Parameters
    ----------
    model : Model or Potential
        A model with its initialization, or the potential itself.
    X : (N, d) array-like, or Prepared
        Rows are samples. For models of matrices (N, d₁, d₂), or what `tacit.observed` gives; the equations
        are then ⟨X_n, M⟩ = y_n.
    y : (N,) array-like
        Targets; (N, m) for a network of m outputs.
    tol : float, optional
        What feasibility and stationarity must reach for the result to be called converged, beside an error
        below 1e-7.
    intercept : bool, optional
        Solve X w + b = y, with b free and not in Q.
    standardize : bool, optional
        Take Q of the weights that belong to features divided by their standard deviation (constant ones stay
        as they are). The predictor is for the features as they came.
    least_squares : bool, optional
        Where X w = y has no solution: of all w of least squares, that of least Q, where the flow ends then.
        The y of the result is what they fit.

    Returns
    -------
    Limit
        The predictor with its multipliers, its certificate and an estimate of its error.

    Raises
    ------
    InputError
        Where an argument is not what it should be.
    InconsistentDataError
        Where X w = y has no solution, and least_squares is not asked for.
    NoPotentialError
        Where no potential is known: networks in general, and factorizations whose measurements do not
        commute.

    See Also
    --------
    flow : The way there, and other losses.
    regime : Which end of the scale the limit is close to.
    certify : The same conditions for a predictor of your own.

    Examples
    --------
    Of the solutions of w₁ + 2w₂ = 2, small scales pick the sparse one and large scales the one of least norm.

    >>> import tacit
    >>> X, y = [[1, 2]], [2]
    >>> for scale in (1e-8, 1e4):
    ...     found = tacit.limit(tacit.Diagonal(scale=scale), X, y)
    ...     print(found.predictor.round(3), found.converged)
    [0. 1.] True
    [0.4 0.8] True
    """
    check_model("limit(model, X, y)", model, X, y)
    check_tolerance(tol)
    begun, names, family = time.perf_counter(), feature_names(X), table_row(model)
    check_units(model, intercept, standardize)
    checked, y = family.as_data(model, X, y)
    design = design_of(X, checked, intercept, standardize)
    targets = kept(design.targets(y))
    if not design.plain:
        check_squares(design.X, y)
    if least_squares:
        found = _fitted_limit(family, model, design.features, targets, design.samples, tol)
    else:
        found = family.limit(model, design.features, targets, design.samples, tol, flow)
    found = found if design.plain else _as_given(found, design, y)
    return replace(found, features=names, seconds=time.perf_counter() - begun)


def _as_given(found: Limit, design: Design, y: Float) -> Limit:
    """The limit for centred or standardized data, told for the data as they came."""
    units = design.units(y)
    w = units.predictor(found.predictor)
    b = units.shift(w)
    return replace(
        found,
        predictor=w,
        intercept=b if b.ndim else float(b),
        X=design.X,
        y=kept(found.y + units.target),
        units=units,
        inside=found,
    )


def _fitted_limit(family: Family, model: Any, X: Float, y: Float, samples: Samples, tol: float) -> Limit:
    """The limit for the part of y that X can fit: the flow does not notice the rest."""
    if not is_linear(model):
        raise InputError(
            "a leaky neuron is no linear model, and where it rests if it cannot fit the data no potential "
            "tells: leave least_squares out, or ask tacit.flow"
        )
    check_squares(X, y)
    try:
        return family.limit(model, X, y, samples, tol, flow)
    except InconsistentDataError:
        fitted = kept(samples.fittable(y))
        share = float(np.linalg.norm(y - fitted) / np.linalg.norm(y))
        return replace(family.limit(model, X, fitted, samples, tol, flow), unfitted=share)
