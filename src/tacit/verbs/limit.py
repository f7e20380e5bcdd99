"""The limit of gradient flow on the square loss."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, check_squares, check_tolerance, feature_names, kept
from tacit.data.entries import Inputs
from tacit.data.equations import Samples
from tacit.data.prepared import Design, design_of
from tacit.errors import InconsistentDataError, InputError
from tacit.models.model import Model, check_model, check_units, is_linear
from tacit.potentials import Potential
from tacit.results.limit import Limit
from tacit.solvers.table import Family, table_row
from tacit.training.settings import Training
from tacit.verbs.flow import flow
from tacit.verbs.many import solve_many
from tacit.verbs.predict_training import check_training, trained_limit

_LOG = logging.getLogger(__name__)


def limit(
    model: Model | Potential,
    X: Inputs,
    y: ArrayLike,
    *,
    tol: float = 1e-10,
    intercept: bool = False,
    standardize: bool = False,
    least_squares: bool = False,
    training: Training | None = None,
    device: str = "cpu",
) -> Limit:
    """Compute the limit of gradient flow on the square loss: argmin Q(w) subject to X w = y.

    Q is the potential of the model at its initialization (Woodworth et al. 2020, Theorems 1 and 3; Azulay et
    al. 2021, Theorems 1, 2 and 4); the flow is not integrated. If samples or features nearly coincide, the
    problem is solved in double-double arithmetic, and reported as not converged if the answer depends on the
    last bits of the data. The result keeps copies of X and y, from which its regime is computed later, unless
    they are larger than 64 MB: then do not change them while the result is in use.

    Parameters
    ----------
    model : Model or Potential
        A model with its initialization, or the potential itself.
    X : (N, d) array-like, or Prepared
        Rows are samples. For models of matrices (N, d₁, d₂), or the result of `tacit.observed`; the equations
        are then ⟨X_n, M⟩ = y_n.
    y : (N,) array-like
        Targets; (N, m) for a network of m outputs.
    tol : float, optional
        The largest feasibility and stationarity with which the result counts as converged; its error must
        also be at most 1e-7.
    intercept : bool, optional
        Solve X w + b = y, with an unpenalized intercept b.
    standardize : bool, optional
        Apply Q to the weights of features divided by their standard deviation (constant features are not
        divided). The predictor belongs to the original features.
    least_squares : bool, optional
        If X w = y has no solution, compute the limit of the flow nevertheless: the least-squares solution of
        minimum Q. The y of the result is then its fit.
    training : Training, optional
        Predict where this training ends instead of gradient flow, for `Diagonal` and `UntiedDiagonal`. The
        result also has `order`, `distance_to_flow`, `prediction_error` and `edge`; its model is the effective
        start, from which gradient flow ends at the predicted end of the training.
    device : str, optional
        "gpu" solves one large problem of a diagonal network on a GPU, by the program of `tacit.limits`;
        "auto" does so if there is one. Without intercept, standardize, least_squares and training.

    Returns
    -------
    Limit
        The predictor with its multipliers, its certificate and an estimate of its error.

    Raises
    ------
    InputError
        If an argument is invalid, or the step is beyond the edge of stability.
    InconsistentDataError
        If X w = y has no solution, unless least_squares is set.
    NoPotentialError
        If no potential is known, as for networks in general and for factorizations whose measurements do not
        commute, or if no theory covers the training.
    MissingDeviceError
        If device is "gpu" and JAX finds none.

    See Also
    --------
    flow : Integrates the flow, also for other losses.
    descend : Runs gradient descent itself.
    regime : Whether the limit is close to that at infinite or at zero scale.
    certify : The optimality conditions for any predictor.

    Examples
    --------
    Of the solutions of w₁ + 2w₂ = 2, small scales pick the sparse one and large scales that of minimum norm.

    >>> import tacit
    >>> X, y = [[1, 2]], [2]
    >>> for scale in (1e-8, 1e4):
    ...     found = tacit.limit(tacit.Diagonal(scale=scale), X, y)
    ...     print(found.predictor.round(3), found.converged)
    [0. 1.] True
    [0.4 0.8] True

    Steps of gradient descent make the solution sparser:

    >>> model = tacit.Diagonal(scale=0.1)
    >>> found = tacit.limit(model, X, y, training=tacit.Training(step=0.05))
    >>> found.order, round(found.distance_to_flow, 4), round(found.edge, 2)
    ('second order in the step', 0.0219, 0.39)
    """
    check_model("limit(model, X, y)", model, X, y)
    check_tolerance(tol)
    if device != "cpu":
        _check_plain(device, intercept, standardize, least_squares, training)
        return solve_many(model, X, y, tol, device, limit)[0]
    begun, names, family = time.perf_counter(), feature_names(X), table_row(model)
    check_units(model, intercept, standardize)
    checked, y = family.as_data(model, X, y)
    design = design_of(X, checked, intercept, standardize)
    targets = kept(design.targets(y))
    if not design.plain:
        check_squares(design.X, y)
    if training is not None:
        check_training(training, intercept, standardize)
        targets = kept(design.samples.fittable(targets)) if least_squares and not training.batch else targets
        found = trained_limit(family, model, design, targets, tol, training)
    elif least_squares:
        found = _fitted_limit(family, model, design.features, targets, design.samples, tol)
    else:
        found = family.limit(model, design.features, targets, design.samples, tol, flow)
    found = found if design.plain else _in_original_units(found, design, y)
    _LOG.info("limit of %r: %s, %d steps", model, found.method, found.iterations)
    return replace(found, features=names, seconds=time.perf_counter() - begun)


def _check_plain(device: str, *options: Any) -> None:
    if any(options):
        raise InputError(
            f"device={device!r} solves X w = y as it is: leave out intercept, standardize, least_squares and "
            "training, or use device='cpu'"
        )


def _in_original_units(found: Limit, design: Design, y: Float) -> Limit:
    """Transform the limit for centred or standardized data back to the original data."""
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
    """The limit for the least-squares fit of y: the residual, orthogonal to X, does not act on the flow."""
    if not is_linear(model):
        raise InputError(
            "least_squares is for linear models, and a leaky neuron is not linear: no potential describes "
            "its limit if it cannot fit the data. Leave least_squares out, or call tacit.flow"
        )
    check_squares(X, y)
    try:
        return family.limit(model, X, y, samples, tol, flow)
    except InconsistentDataError:
        fitted = kept(samples.fittable(y))
        share = float(np.linalg.norm(y - fitted) / np.linalg.norm(y))
        return replace(family.limit(model, X, fitted, samples, tol, flow), unfitted=share)
