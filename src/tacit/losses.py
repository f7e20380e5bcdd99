r"""Losses L for gradient flow: accuracy γ̃ = −log L and negative gradient with respect to the outputs.

The value of a loss is never computed, only its logarithm: a loss of exp(−10¹¹) has accuracy 10¹¹. The method
`pull` gives −∂L/∂f for the square loss and −(1/L)·∂L/∂f for the others, for which flows use a rescaled time.
All methods accept NumPy and JAX arrays, and outputs with leading axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from tacit.errors import InputError
from tacit.potentials.arrays import array_namespace

__all__ = ["CrossEntropy", "Exponential", "Logistic", "Loss", "SeparatingLoss", "Square"]

Array = Any

_NORMALIZATIONS = {  # name → (factor, whether to divide by the number of samples)
    "half-mean": (0.5, True),
    "mean": (1.0, True),
    "half-sum": (0.5, False),
    "sum": (1.0, False),
}
_STEP = np.finfo(np.float64).eps ** (1 / 3)  # of central differences: balances round-off and truncation error
_FAR = 40.0  # margins from which log(1 + e⁻ᵐ) = e⁻ᵐ in double precision


class Loss:
    """Base class of losses; subclass it to define your own.

    Implement `accuracy` and `pull`, and set `name`. The default `pull_jacobian` uses finite differences.

    Attributes
    ----------
    name : str
        Name of the loss in messages and plots.
    separating : bool
        Whether L is the mean of a decreasing function of the margins y·f; see `SeparatingLoss`.
    quadratic : bool
        Whether L = c·Σ(f − y)² with c given by `factor`; faster integrators are then available.
    relative : bool
        Whether `pull` is divided by L, so that flows use a rescaled time.
    classes : bool
        Whether the model has one output per class.

    Examples
    --------
    >>> import numpy as np, tacit
    >>> class Quartic(tacit.losses.Loss):
    ...     name = "quartic loss"
    ...     def accuracy(self, outputs, y):
    ...         return -np.log(np.mean((outputs - y) ** 4, axis=-1))
    ...     def pull(self, outputs, y):
    ...         return -4 * (outputs - y) ** 3 / len(y)
    >>> Quartic().pull(np.array([1.0, 3.0]), np.array([0.0, 4.0])).tolist()
    [-2.0, 2.0]
    """

    name: str
    separating: bool = False
    quadratic: bool = False
    relative: bool = False
    classes: bool = False

    def accuracy(self, outputs: Array, y: Array) -> Array:
        """Compute the accuracy γ̃ = −log L.

        Parameters
        ----------
        outputs : (…, N) or (…, N, m) array
            Outputs f(x_n), with optional leading axes.
        y : (N,) or (N, m) array
            Targets, or labels −1 and +1.

        Returns
        -------
        (…) array
            γ̃.
        """
        raise TypeError(f"{type(self).__name__} must implement accuracy(outputs, y)")

    def pull(self, outputs: Array, y: Array) -> Array:
        """Compute the negative gradient −∂L/∂f; for relative losses −(1/L)·∂L/∂f.

        Parameters
        ----------
        outputs : (…, N) or (…, N, m) array
            Outputs f(x_n), with optional leading axes.
        y : (N,) or (N, m) array
            Targets, or labels −1 and +1.

        Returns
        -------
        array
            The same shape as `outputs`.
        """
        raise TypeError(f"{type(self).__name__} must implement pull(outputs, y)")

    def pull_jacobian(self, outputs: Array, y: Array) -> Array:
        """Compute the Jacobian of `pull`, used by implicit integrators.

        Parameters
        ----------
        outputs : (N,) or (N, m) array
            Outputs f(x_n).
        y : (N,) or (N, m) array
            Targets, or labels −1 and +1.

        Returns
        -------
        (N·m, N·m) array
            ∂(pull)/∂(outputs), with the outputs of a sample adjacent. Default: central differences.
        """
        step = _STEP * max(float(np.abs(outputs).max()), 1.0)
        shifts = (step * np.eye(outputs.size)).reshape(-1, *outputs.shape)
        slopes = (self.pull(outputs + shifts, y) - self.pull(outputs - shifts, y)) / (2 * step)
        return slopes.reshape(outputs.size, outputs.size).T

    def factor(self, samples: int) -> float:
        """The factor c of a quadratic loss c·Σ(f − y)².

        Parameters
        ----------
        samples : int
            Number of samples N.

        Returns
        -------
        float
            c.
        """
        raise TypeError(
            f"{type(self).__name__} must implement factor(samples), because it has quadratic = True"
        )

    def margins(self, outputs: Array, y: Array) -> Array:
        """Compute the margins y·f.

        Parameters
        ----------
        outputs : (…, N) or (…, N, m) array
            Outputs f(x_n), with optional leading axes.
        y : (N,) or (N, m) array
            Labels −1 and +1, or one-hot rows.

        Returns
        -------
        (…, N) array
            Positive for samples that are classified correctly.
        """
        return y * outputs


@dataclass(frozen=True)
class Square(Loss):
    """Square loss L = c·Σ (f(x_n) − y_n)², summed over samples and outputs.

    The normalization c changes only the time scale of the flow.

    Parameters
    ----------
    normalization : "half-mean" | "mean" | "half-sum" | "sum", optional
        c = 1/(2N) (Azulay et al. 2021, Section 3), 1/N (Min et al. 2021, Section 4), ½ (Min et al. 2021,
        Section 2) or 1 (Woodworth et al. 2020, Section 2).

    Examples
    --------
    >>> import numpy as np, tacit
    >>> tacit.losses.Square("sum").pull(np.array([1.0, 2.0]), np.array([3.0, 2.0])).tolist()
    [4.0, 0.0]
    """

    normalization: str = "half-mean"
    quadratic = True

    def __post_init__(self) -> None:
        if self.normalization not in _NORMALIZATIONS:
            names = ", ".join(map(repr, _NORMALIZATIONS))
            raise InputError(f"normalization must be one of {names}, got {self.normalization!r}")

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name of the loss."""
        return f"square loss ({self.normalization})"

    def factor(self, samples: int) -> float:
        """c for this number of samples."""
        factor, mean = _NORMALIZATIONS[self.normalization]
        return factor / samples if mean else factor

    def accuracy(self, outputs: Array, y: Array) -> Array:
        """−log L; ∞ if every sample is fitted exactly."""
        xp = array_namespace(outputs)
        residual = y - outputs
        axes = tuple(range(residual.ndim - y.ndim, residual.ndim))
        size = xp.max(xp.abs(residual), axis=axes, keepdims=True)
        size = xp.where(size > 0, size, 1.0)  # avoids underflow of squares
        total = xp.sum((residual / size) ** 2, axis=axes)
        size = xp.reshape(size, total.shape)
        positive = xp.where(total > 0, total, 1.0)
        accuracy = -xp.log(positive) - 2 * xp.log(size) - float(np.log(self.factor(y.shape[0])))
        return xp.where(total > 0, accuracy, xp.where(total == 0, xp.inf, xp.nan))

    def pull(self, outputs: Array, y: Array) -> Array:
        """−∂L/∂f = 2c·(y − f)."""
        return 2 * self.factor(y.shape[0]) * (y - outputs)

    def pull_jacobian(self, outputs: Array, y: Array) -> Array:
        """−2c I."""
        return -2 * self.factor(y.shape[0]) * np.eye(outputs.size)


class SeparatingLoss(Loss):
    """Base class of losses L = mean ℓ(y·f) with a decreasing function ℓ of the margins.

    Implement `log_terms`, `log_slope` and `slope_rate`, and set `name`.

    Examples
    --------
    >>> import numpy as np, tacit
    >>> class Tempered(tacit.losses.SeparatingLoss):
    ...     name = "exp(-m/2)"
    ...     def log_terms(self, margins):
    ...         return -margins / 2
    ...     def log_slope(self, margins):
    ...         return -margins / 2 - np.log(2)
    ...     def slope_rate(self, margins):
    ...         return np.full_like(margins, 0.5)
    >>> float(Tempered().accuracy(np.array([4.0, -4.0]), np.array([1.0, -1.0])))
    2.0
    """

    separating = relative = True

    def log_terms(self, margins: Array) -> Array:
        """Compute log ℓ(m).

        Parameters
        ----------
        margins : (…, N) array
            Margins m = y·f.

        Returns
        -------
        (…, N) array
            log ℓ(m).
        """
        raise TypeError(f"{type(self).__name__} must implement log_terms(margins)")

    def log_slope(self, margins: Array) -> Array:
        """Compute log(−ℓ'(m)).

        Parameters
        ----------
        margins : (…, N) array
            Margins m = y·f.

        Returns
        -------
        (…, N) array
            log(−ℓ'(m)).
        """
        raise TypeError(f"{type(self).__name__} must implement log_slope(margins)")

    def slope_rate(self, margins: Array) -> Array:
        """Compute −d log(−ℓ'(m))/dm.

        Parameters
        ----------
        margins : (…, N) array
            Margins m = y·f.

        Returns
        -------
        (…, N) array
            The derivatives.
        """
        raise TypeError(f"{type(self).__name__} must implement slope_rate(margins)")

    def accuracy(self, outputs: Array, y: Array) -> Array:
        """−log L = −log mean ℓ(y f)."""
        return 0.0 - log_mean_exp(self.log_terms(y * outputs))  # 0 instead of −0

    def pull(self, outputs: Array, y: Array) -> Array:
        """−(1/L)·∂L/∂f, from differences of logarithms (Moroshko et al. 2020, equation 87)."""
        return y * self._relative_slopes(y * outputs)

    def _relative_slopes(self, margins: Array) -> Array:
        """−ℓ'(m)/(N·L), from differences of logarithms, since ℓ' and L may underflow."""
        xp = array_namespace(margins)
        log_loss = log_mean_exp(self.log_terms(margins))[..., None]
        return xp.exp(self.log_slope(margins) - log_loss) / margins.shape[-1]

    def pull_jacobian(self, outputs: Array, y: Array) -> Array:
        """p pᵀ − diag(y·p·slope_rate) with p the pull: derivatives of 1/L and of ℓ'."""
        pull = self.pull(outputs, y)
        return np.outer(pull, pull) - np.diag(self.slope_rate(y * outputs) * y * pull)


@dataclass(frozen=True)
class Exponential(SeparatingLoss):
    """Exponential loss L = mean of exp(−y f(x)) (Moroshko et al. 2020, Section 2).

    Examples
    --------
    >>> import numpy as np, tacit
    >>> loss, f, y = tacit.losses.Exponential(), np.array([1000.0, -1000.0]), np.array([1.0, -1.0])
    >>> float(loss.accuracy(f, y)), loss.pull(f, y).tolist()
    (1000.0, [0.5, -0.5])
    """

    name = "exponential loss"

    def log_slope(self, margins: Array) -> Array:
        """−m."""
        return -margins

    def log_terms(self, margins: Array) -> Array:
        """−m."""
        return -margins

    def pull(self, outputs: Array, y: Array) -> Array:
        """y·e⁻ᵐ/Σe⁻ᵐ."""
        xp = array_namespace(outputs)
        margins = y * outputs
        shares = xp.exp(xp.min(margins, axis=-1, keepdims=True) - margins)
        return y * shares / xp.sum(shares, axis=-1, keepdims=True)

    def slope_rate(self, margins: Array) -> Array:
        """1."""
        return margins * 0.0 + 1.0


@dataclass(frozen=True)
class Logistic(SeparatingLoss):
    """Logistic loss L = mean of log(1 + exp(−y f(x))).

    Examples
    --------
    >>> import numpy as np, tacit
    >>> float(tacit.losses.Logistic().accuracy(np.array([1000.0]), np.array([1.0])))
    1000.0
    """

    name = "logistic loss"

    def log_slope(self, margins: Array) -> Array:
        """−log(1 + eᵐ)."""
        xp = array_namespace(margins)
        return -xp.logaddexp(margins, xp.zeros_like(margins))

    def log_terms(self, margins: Array) -> Array:
        """log log(1 + e⁻ᵐ)."""
        xp = array_namespace(margins)
        far = margins > _FAR
        near = xp.where(far, 0.0, margins)
        return xp.where(far, -margins, xp.log(xp.logaddexp(-near, xp.zeros_like(near))))

    def slope_rate(self, margins: Array) -> Array:
        """1/(1 + e⁻ᵐ)."""
        xp = array_namespace(margins)
        return xp.exp(-xp.logaddexp(-margins, xp.zeros_like(margins)))


@dataclass(frozen=True)
class CrossEntropy(Loss):
    r"""Cross-entropy L = mean of −log p_y(x), with p = softmax of the outputs and one-hot rows y.

    Computed as the logistic loss of the margins m = −log Σ_{k≠y} exp(f_k − f_y), which is accurate for losses
    that underflow.

    Examples
    --------
    >>> import numpy as np, tacit
    >>> float(tacit.losses.CrossEntropy().accuracy(np.array([[1000.0, 0.0]]), np.array([[1.0, 0.0]])))
    1000.0
    """

    name = "cross-entropy"
    relative = classes = True

    def accuracy(self, outputs: Array, y: Array) -> Array:
        """−log L."""
        return 0.0 - log_mean_exp(_LOGISTIC.log_terms(_class_margins(outputs, y)[0]))

    def pull(self, outputs: Array, y: Array) -> Array:
        """−(1/L)·∂L/∂f, proportional to y − s with s the softmax over the other classes."""
        margins, shares = _class_margins(outputs, y)
        return _LOGISTIC._relative_slopes(margins)[..., None] * (y - shares)

    def pull_jacobian(self, outputs: Array, y: Array) -> Array:
        """p pᵀ − e·(slope_rate·g gᵀ + diag(s) − s sᵀ) per sample: g = y − s, with p = e·g the pull."""
        margins, shares = _class_margins(outputs, y)
        sizes, rates = _LOGISTIC._relative_slopes(margins), _LOGISTIC.slope_rate(margins)
        directions = y - shares
        pull = np.ravel(sizes[:, None] * directions)
        blocks = [
            size * (rate * np.outer(g, g) + np.diag(s) - np.outer(s, s))
            for size, rate, g, s in zip(sizes, rates, directions, shares, strict=True)
        ]
        return np.outer(pull, pull) - block_diag(*blocks)

    def margins(self, outputs: Array, y: Array) -> Array:
        """f_y − max_{k≠y} f_k."""
        xp = array_namespace(outputs)
        own = xp.sum(y * outputs, axis=-1)
        return own - xp.max(xp.where(y > 0, -xp.inf, outputs), axis=-1)


def _class_margins(outputs: Array, y: Array) -> tuple[Array, Array]:
    """m = −log Σ_{k≠y} exp(f_k − f_y), and the share of each other class in the sum."""
    xp = array_namespace(outputs)
    own = xp.sum(y * outputs, axis=-1, keepdims=True)
    gaps = xp.where(y > 0, -xp.inf, outputs - own)
    largest = xp.max(gaps, axis=-1, keepdims=True)
    terms = xp.exp(gaps - largest)
    total = xp.sum(terms, axis=-1, keepdims=True)
    return -(largest + xp.log(total))[..., 0], terms / total


_LOGISTIC = Logistic()
_NAMES: dict[str, Loss] = {
    "square": Square(),
    "exp": Exponential(),
    "exponential": Exponential(),
    "logistic": _LOGISTIC,
    "cross-entropy": CrossEntropy(),
}


def as_loss(loss: Any) -> Loss:
    """Return the loss with this name, or the object itself if it is a loss."""
    if isinstance(loss, str) and loss in _NAMES:
        return _NAMES[loss]
    if isinstance(loss, Loss):
        return loss
    raise InputError(
        "loss must be 'square', 'exp', 'logistic', 'cross-entropy' or an object such as "
        "tacit.losses.Square('sum') (subclass tacit.losses.Loss or SeparatingLoss to define your own), "
        f"got {loss!r}"
    )


def log_mean_exp(logs: Array) -> Array:
    """log of the mean of exp over the last axis; accurate also if all logs are close to 0."""
    xp = array_namespace(logs)
    largest = xp.max(logs, axis=-1)
    largest = xp.where(xp.isfinite(largest), largest, 0.0)
    return largest + xp.log1p(xp.sum(xp.expm1(logs - largest[..., None]), axis=-1) / logs.shape[-1])
