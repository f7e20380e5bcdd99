r"""Losses, as gradient flow needs them: their accuracy γ̃ = −log L, and how they pull on the outputs.

No loss value is ever formed: a loss of exp(−10¹¹) is the accuracy 10¹¹. The pull is −∂L/∂f for the square
loss, and −(1/L)·∂L/∂f for the others, whose clock runs in units of the loss.
All work on NumPy and JAX arrays alike, and over leading axes of the outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.potentials.arrays import array_namespace

__all__ = ["CrossEntropy", "Exponential", "Logistic", "Loss", "SeparatingLoss", "Square"]

Array = Any

_NORMALIZATIONS = {  # name → (factor, divided by the number of samples?)
    "half-mean": (0.5, True),
    "mean": (1.0, True),
    "half-sum": (0.5, False),
    "sum": (1.0, False),
}


_STEP = np.finfo(np.float64).eps ** (1 / 3)  # of central differences: rounding and curvature err alike


class Loss:
    """The contract of a loss, for those of your own: two methods, over leading axes of the outputs.

    `accuracy` and `pull` must be given; `pull_jacobian` is found by differences if it is not. `name` is the
    loss in words. `separating`: is it a mean of a decreasing function of the margins y·f (`SeparatingLoss`)?
    `quadratic`: is it c·Σ(f − y)² with the c of `factor`? Such losses have faster integrators. `relative`:
    does its clock run in units of the loss? `classes`: has it an output for each class?
    """

    name: str
    separating: bool = False
    quadratic: bool = False
    relative: bool = False
    classes: bool = False

    def accuracy(self, outputs: Array, y: Array) -> Array:
        """γ̃ = −log L.

        Parameters
        ----------
        outputs : (…, N) or (…, N, m) array
            f(x_n), over leading axes.
        y : (N,) or (N, m) array
            Targets, or labels −1 and +1.

        Returns
        -------
        (…) array
            γ̃.
        """
        raise TypeError(f"{type(self).__name__} must implement accuracy(outputs, y)")

    def pull(self, outputs: Array, y: Array) -> Array:
        """−∂L/∂f; of relative losses −(1/L)·∂L/∂f.

        Parameters
        ----------
        outputs : (…, N) or (…, N, m) array
            f(x_n), over leading axes.
        y : (N,) or (N, m) array
            Targets, or labels −1 and +1.

        Returns
        -------
        array
            Of the shape of the outputs.
        """
        raise TypeError(f"{type(self).__name__} must implement pull(outputs, y)")

    def pull_jacobian(self, outputs: Array, y: Array) -> Array:
        """The derivative of the pull, of which implicit integrators make their steps.

        Parameters
        ----------
        outputs : (N,) or (N, m) array
            f(x_n).
        y : (N,) or (N, m) array
            Targets, or labels −1 and +1.

        Returns
        -------
        (N·m, N·m) array
            ∂(pull)/∂(outputs), the outputs of a sample side by side. The default takes central differences.
        """
        step = _STEP * max(float(np.abs(outputs).max()), 1.0)
        moves = (step * np.eye(outputs.size)).reshape(-1, *outputs.shape)
        rates = (self.pull(outputs + moves, y) - self.pull(outputs - moves, y)) / (2 * step)
        return rates.reshape(outputs.size, outputs.size).T

    def factor(self, samples: int) -> float:
        """c of a quadratic loss c·Σ(f − y)².

        Parameters
        ----------
        samples : int
            N.

        Returns
        -------
        float
            c.
        """
        raise TypeError(f"{type(self).__name__} must implement factor(samples): it says that it is quadratic")

    def margins(self, outputs: Array, y: Array) -> Array:
        """By how much each sample is on the right side: y·f.

        Parameters
        ----------
        outputs : (…, N) or (…, N, m) array
            f(x_n), over leading axes.
        y : (N,) or (N, m) array
            Labels −1 and +1, or rows of 0 and a 1.

        Returns
        -------
        (…, N) array
            The margins.
        """
        return y * outputs


@dataclass(frozen=True)
class Square(Loss):
    """L = c·Σ (f(x_n) − y_n)², summed over samples and outputs.

    Only time depends on the normalization.

    Parameters
    ----------
    normalization : "half-mean" | "mean" | "half-sum" | "sum", optional
        c = 1/(2N) (Azulay et al. 2021, Section 3), 1/N (Min et al. 2021, Section 4), ½ (Min et al. 2021,
        Section 2) or 1 (Woodworth et al. 2020, Section 2).
    """

    normalization: str = "half-mean"
    quadratic = True

    def __post_init__(self) -> None:
        if self.normalization not in _NORMALIZATIONS:
            names = ", ".join(map(repr, _NORMALIZATIONS))
            raise InputError(f"normalization must be one of {names}, got {self.normalization!r}")

    @property
    def name(self) -> str:  # type: ignore[override]
        """The loss in words."""
        return f"square loss ({self.normalization})"

    def factor(self, samples: int) -> float:
        """c for this number of samples."""
        factor, mean = _NORMALIZATIONS[self.normalization]
        return factor / samples if mean else factor

    def accuracy(self, outputs: Array, y: Array) -> Array:
        """−log L; infinite where every sample is fitted exactly."""
        xp = array_namespace(outputs)
        residual = y - outputs
        axes = tuple(range(residual.ndim - y.ndim, residual.ndim))
        size = xp.max(xp.abs(residual), axis=axes, keepdims=True)
        size = xp.where(size > 0, size, 1.0)  # squares of tiny residuals would underflow
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
    """Means of a decreasing function ℓ of the margins y·f, for those of your own: its logarithms.

    `log_terms`, `log_slope` and `slope_rate` must be given.
    """

    separating = relative = True

    def log_terms(self, margins: Array) -> Array:
        """log ℓ at every margin.

        Parameters
        ----------
        margins : (…, N) array
            m = y·f.

        Returns
        -------
        (…, N) array
            The logarithms.
        """
        raise TypeError(f"{type(self).__name__} must implement log_terms(margins)")

    def log_slope(self, margins: Array) -> Array:
        """log(−ℓ') at every margin.

        Parameters
        ----------
        margins : (…, N) array
            m = y·f.

        Returns
        -------
        (…, N) array
            The logarithms.
        """
        raise TypeError(f"{type(self).__name__} must implement log_slope(margins)")

    def slope_rate(self, margins: Array) -> Array:
        """−d(log(−ℓ'))/dm at every margin.

        Parameters
        ----------
        margins : (…, N) array
            m = y·f.

        Returns
        -------
        (…, N) array
            The rates.
        """
        raise TypeError(f"{type(self).__name__} must implement slope_rate(margins)")

    def accuracy(self, outputs: Array, y: Array) -> Array:
        """−log L = −log mean ℓ(y f)."""
        return 0.0 - log_mean_exp(self.log_terms(y * outputs))  # never −0

    def pull(self, outputs: Array, y: Array) -> Array:
        """−(1/L)·∂L/∂f, from differences of logarithms (Moroshko et al. 2020, equation 87)."""
        xp = array_namespace(outputs)
        margins = y * outputs
        level = log_mean_exp(self.log_terms(margins))
        return y * xp.exp(self.log_slope(margins) - level) / y.shape[0]

    def pull_jacobian(self, outputs: Array, y: Array) -> Array:
        """p pᵀ − diag(rate·y·p), p the pull: of 1/L, and of each slope."""
        pull = self.pull(outputs, y)
        return np.outer(pull, pull) - np.diag(self.slope_rate(y * outputs) * y * pull)


@dataclass(frozen=True)
class Exponential(SeparatingLoss):
    """L = mean of exp(−y f(x)) (Moroshko et al. 2020, Section 2)."""

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
        """−d(log slope)/dm = 1."""
        return margins * 0.0 + 1.0


@dataclass(frozen=True)
class Logistic(SeparatingLoss):
    """L = mean of log(1 + exp(−y f(x)))."""

    name = "logistic loss"

    def log_slope(self, margins: Array) -> Array:
        """−log(1 + eᵐ)."""
        xp = array_namespace(margins)
        return -xp.logaddexp(margins, xp.zeros_like(margins))

    def log_terms(self, margins: Array) -> Array:
        """log log(1 + e⁻ᵐ)."""
        xp = array_namespace(margins)
        far = margins > 40  # where log(1 + x) is x
        near = xp.where(far, 0.0, margins)
        return xp.where(far, -margins, xp.log(xp.logaddexp(-near, xp.zeros_like(near))))

    def slope_rate(self, margins: Array) -> Array:
        """−d(log slope)/dm = 1/(1 + e⁻ᵐ)."""
        xp = array_namespace(margins)
        return xp.exp(-xp.logaddexp(-margins, xp.zeros_like(margins)))


@dataclass(frozen=True)
class CrossEntropy(Loss):
    r"""L = mean of −log p_y(x), p = softmax of the outputs, one for each class; y as rows of 0 and a 1.

    It is the logistic loss of the margins m = −log Σ_{k≠y} exp(f_k − f_y), which keeps the digits of losses
    below the smallest float.
    """

    name = "cross-entropy"
    relative = classes = True

    def accuracy(self, outputs: Array, y: Array) -> Array:
        """−log L."""
        return 0.0 - log_mean_exp(_LOGISTIC.log_terms(_against(outputs, y)[0]))

    def pull(self, outputs: Array, y: Array) -> Array:
        """−(1/L)·∂L/∂f: towards the class, and from the others by their shares."""
        xp = array_namespace(outputs)
        margins, shares = _against(outputs, y)
        level = log_mean_exp(_LOGISTIC.log_terms(margins))[..., None]
        return xp.exp(_LOGISTIC.log_slope(margins) - level)[..., None] * (y - shares) / y.shape[0]

    def pull_jacobian(self, outputs: Array, y: Array) -> Array:
        """p pᵀ − e·(rate·g gᵀ + diag(s) − s sᵀ) of each sample: g = y − s, s the shares, p = e·g the pull."""
        margins, shares = _against(outputs, y)
        level = log_mean_exp(_LOGISTIC.log_terms(margins))
        sizes, toward = np.exp(_LOGISTIC.log_slope(margins) - level) / y.shape[0], y - shares
        pull = np.ravel(sizes[:, None] * toward)
        found, classes = np.outer(pull, pull), y.shape[1]
        for n, rate in enumerate(_LOGISTIC.slope_rate(margins)):
            own = slice(n * classes, (n + 1) * classes)
            bent = np.diag(shares[n]) - np.outer(shares[n], shares[n])
            found[own, own] -= sizes[n] * (rate * np.outer(toward[n], toward[n]) + bent)
        return found

    def margins(self, outputs: Array, y: Array) -> Array:
        """f_y − max_{k≠y} f_k."""
        xp = array_namespace(outputs)
        own = xp.sum(y * outputs, axis=-1)
        return own - xp.max(xp.where(y > 0, -xp.inf, outputs), axis=-1)


def _against(outputs: Array, y: Array) -> tuple[Array, Array]:
    """m = −log Σ_{k≠y} exp(f_k − f_y), and each other class's share of the sum."""
    xp = array_namespace(outputs)
    own = xp.sum(y * outputs, axis=-1, keepdims=True)
    gaps = xp.where(y > 0, -xp.inf, outputs - own)
    most = xp.max(gaps, axis=-1, keepdims=True)
    terms = xp.exp(gaps - most)
    total = xp.sum(terms, axis=-1, keepdims=True)
    return -(most + xp.log(total))[..., 0], terms / total


_LOGISTIC = Logistic()
_NAMES: dict[str, Loss] = {
    "square": Square(),
    "exp": Exponential(),
    "exponential": Exponential(),
    "logistic": _LOGISTIC,
    "cross-entropy": CrossEntropy(),
}


def as_loss(loss: Any) -> Loss:
    """The loss object of that name, or the object itself."""
    if isinstance(loss, str) and loss in _NAMES:
        return _NAMES[loss]
    if isinstance(loss, Loss):
        return loss
    raise InputError(
        "loss must be 'square', 'exp', 'logistic', 'cross-entropy' or an object such as "
        "tacit.losses.Square('sum') (those of your own are a tacit.losses.Loss or SeparatingLoss), "
        f"got {loss!r}"
    )


def log_mean_exp(logs: Array) -> Array:
    """log of the mean of exp over the last axis; accurate also where all logs are nearly 0."""
    xp = array_namespace(logs)
    most = xp.max(logs, axis=-1)
    most = xp.where(xp.isfinite(most), most, 0.0)
    return most + xp.log1p(xp.sum(xp.expm1(logs - most[..., None]), axis=-1) / logs.shape[-1])
