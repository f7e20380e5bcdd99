"""The limits of many problems at once."""

from __future__ import annotations

from numpy.typing import ArrayLike

from tacit.data.entries import Inputs
from tacit.results.limits import Limits
from tacit.solvers.batch.models import Models
from tacit.verbs.limit import limit
from tacit.verbs.many import solve_many


def limits(models: Models, X: Inputs, y: ArrayLike, *, tol: float = 1e-10, device: str = "auto") -> Limits:
    """Compute the limits of many problems: argmin Qᵢ(w) subject to Xᵢ w = yᵢ for i = 1, …, B.

    Models, X and y are broadcast against each other: one X and y with a sequence of models, one model with
    many data sets, or all of them. Problems of diagonal networks are solved together, by one program that
    runs on all cores of the CPU or on a GPU: problems that share X and y and differ in scale start from each
    other. Each solution has the certificate of `tacit.limit`. Problems that the batch does not certify, and
    models of other families, are solved singly by `tacit.limit`.

    Parameters
    ----------
    models : Model, Potential or sequence of them
        One model for all problems, or one for each; nested sequences have several axes. All are of one
        family.
    X : (N, d) or (B, N, d) array-like, or Prepared
        Rows are samples. More leading axes are allowed, such as (S, 1, N, d) for S data sets and several
        models.
    y : (N,) or (B, N) array-like
        Targets.
    tol : float, optional
        The largest feasibility and stationarity with which a problem counts as converged, as in
        `tacit.limit`.
    device : str, optional
        "cpu", "gpu" (an NVIDIA GPU through JAX, in double precision), or "auto": a GPU for large batches if
        there is one.

    Returns
    -------
    Limits
        Arrays of predictors, multipliers and certificates, one row for each problem. A problem that raises an
        error, such as NaN in its data or equations without a solution, does not stop the others: `errors`
        names it.

    Raises
    ------
    InputError
        If models are of different families, shapes do not match, or data that all problems share are invalid.
    MissingDeviceError
        If device is "gpu" and JAX finds none.

    See Also
    --------
    limit : One problem, with an intercept, standardization or training.
    margin_paths : Maximum-margin paths of many problems.

    Examples
    --------
    >>> import numpy as np
    >>> import tacit
    >>> X, y = np.random.default_rng(0).standard_normal((10, 3, 8)), [1.0, 2.0, 3.0]
    >>> models = [tacit.Diagonal(scale=scale) for scale in (1e-4, 1e-2, 1.0)]
    >>> limits = tacit.limits(models, X[:, None], y)  # 10 data sets × 3 scales
    >>> limits.predictors.shape, limits.shape, bool(limits.converged.all())
    ((30, 8), (10, 3), True)
    """
    return solve_many(models, X, y, tol, device, limit)
