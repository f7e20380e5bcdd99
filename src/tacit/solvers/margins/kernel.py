"""The margin at a scale where the geometry of a diagonal network is that of a kernel."""

from __future__ import annotations

import math

import numpy as np

from tacit.data.equations import ANY
from tacit.numerics.nonnegative import least_norm_support
from tacit.solvers.interpolation.geometry import Separable
from tacit.solvers.interpolation.solution import unknown_error
from tacit.solvers.margins.constraints import Margins
from tacit.solvers.margins.support import Held, hold, minimizer_of

_KERNEL = 1e4  # scale, relative to the predictor, at which the support is that of the ℓ2 margin


def at_the_kernel_end(margins: Margins, geometry: Separable, largest: float = 0.0) -> tuple[Held, float]:
    """The predictor at a scale where the geometry is that of a kernel, and the logarithm of that scale.

    There Q is Σ (w−w₀)²/(2W): an ℓ2 margin in the coordinates (w−w₀)/√W.
    """
    origin = np.zeros(margins.Z.shape[1]) if geometry.origin is None else geometry.origin
    root, targets = np.sqrt(geometry.kernel_metric()), 1 - margins.Z @ origin
    rows = margins.in_units(root).nearly_free()
    support = least_norm_support(rows, targets / (np.abs(targets).max() or 1.0))
    held = margins.equations(support, ANY)
    w = origin + root * np.linalg.lstsq(held.X * root, held.y - held.X @ origin, rcond=None)[0]
    far = float(np.max(np.abs(w) * np.exp(-geometry.log_scale)))
    log_mu = math.log(max(largest, _KERNEL * far, 1e-300))
    found = hold(margins, minimizer_of(geometry.shifted(log_mu)), support)
    return (found or Held(w, 0.0, np.zeros(len(margins)), support, False, unknown_error)), log_mu
