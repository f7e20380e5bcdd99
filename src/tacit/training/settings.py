r"""Settings of gradient descent, and their conversion from PyTorch.

    v ← momentum·v − step·(∇L + decay·w),    w ← w + v        (Nesterov: w ← w + momentum·v − step·(…))

with L = 1/(2N)·‖Xw − y‖² over the batch, N its size, and v = 0 at the start. Time is step/(1 − momentum) per
step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import as_floats
from tacit.errors import InputError

_ON_TIME = 1e-9  # share of a step that is round-off of decay_time/dt, so that 15/0.1 is 150 steps
_LOSSES = {"mse": 2.0, "half-mse": 1.0}  # gradient of the loss, in units of that of L


@dataclass(frozen=True)
class Training:
    """Settings of gradient descent: step size, momentum, mini-batches, weight decay, label noise.

    One step with gradient G = ∇L + decay·w of the loss L = 1/(2N)·‖Xw − y‖² is

        v ← momentum·v − step·G,    w ← w + v    (nesterov: w ← w + momentum·v − step·G)

    for the weights of the model: w₊ and w₋ of `Diagonal`, the layers of `UntiedDiagonal`. Its time is the
    number of steps times step/(1 − momentum).

    Parameters
    ----------
    step : float
        γ, the step size (learning rate). 0 stands for gradient flow.
    momentum : float, optional
        β in [0, 1): heavy-ball momentum.
    nesterov : bool, optional
        Nesterov's momentum instead of the heavy ball.
    batch : int, optional
        Samples per step, drawn anew in each step without replacement. All of them by default.
    decay : float or function, optional
        Weight decay λ ≥ 0: the gradient of λ/2·‖w‖² is added to that of the loss. A function of time may
        return different values at different times.
    decay_time : float, optional
        The time after which the decay is 0. By default it stays on.
    label_noise : float, optional
        δ: in the first noise_steps steps, every target is y ± δ, with random signs.
    noise_steps : int, optional
        The number of steps with label noise.

    Raises
    ------
    InputError
        If an argument is invalid.

    See Also
    --------
    limit : Predicts where such a training ends: limit(model, X, y, training=…).
    descend : The training itself.

    Examples
    --------
    >>> import tacit
    >>> X, y = [[1, 2, 0], [0, 1, 1]], [1, 2]
    >>> model = tacit.Diagonal(scale=0.1)
    >>> found = tacit.limit(model, X, y, training=tacit.Training(step=0.05))
    >>> found.order, found.converged
    ('second order in the step', True)
    """

    step: float
    momentum: float = 0.0
    nesterov: bool = False
    batch: int | None = None
    decay: float | Callable[[float], float] = 0.0
    decay_time: float = math.inf
    label_noise: float = 0.0
    noise_steps: int = 0

    def __post_init__(self) -> None:
        numbers = {name: _number(getattr(self, name), name) for name in ("step", "momentum", "label_noise")}
        for name, value in numbers.items():
            object.__setattr__(self, name, value)
        if not numbers["momentum"] < 1:
            raise InputError(
                f"momentum must lie in [0, 1), got {self.momentum}; at 1 the weights would not converge"
            )
        if self.nesterov and not self.momentum:
            raise InputError("nesterov needs momentum: give momentum between 0 and 1, or leave nesterov out")
        if self.batch is not None:
            object.__setattr__(self, "batch", _whole(self.batch, "batch", 1))
        object.__setattr__(self, "noise_steps", _whole(self.noise_steps, "noise_steps", 0))
        if bool(self.label_noise) != bool(self.noise_steps):
            raise InputError(
                f"label_noise = {self.label_noise:g} and noise_steps = {self.noise_steps} belong together: "
                "give both, or neither"
            )
        self._check_decay()
        self._check_flow()

    def _check_decay(self) -> None:
        if not callable(self.decay):
            object.__setattr__(self, "decay", _number(self.decay, "decay"))
        time = self.decay_time
        if isinstance(time, str) or not np.ndim(time) == 0 or math.isnan(time) or time < 0:
            raise InputError(f"decay_time must be a time of at least 0, got {time!r}")
        if self.decay == 0 and time < math.inf:
            raise InputError("decay_time is given, but decay is 0: give a decay, or leave decay_time out")

    def _check_flow(self) -> None:
        """At step 0 there are no steps that momentum, batches or noise could act on."""
        if self.step == 0 and (self.momentum or self.batch or self.label_noise):
            raise InputError(
                "step = 0 is gradient flow, which has no momentum, batches or label noise: give a step, or "
                "leave them out"
            )

    @classmethod
    def from_torch(
        cls,
        lr: float,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        loss: str = "mse",
        product: bool = False,
        **others: Any,
    ) -> Training:
        """Convert the settings of `torch.optim.SGD`.

        PyTorch keeps the buffer b ← momentum·b + G and moves w by −lr·b, so that v = −lr·b: momentum,
        Nesterov and weight decay mean the same. What differs is the loss: `MSELoss` is 2L, so step = 2·lr and
        decay = weight_decay/2. A network β = u∘v has w± = (u ± v)/2 and hence half the step and twice the
        decay; started at u = √2·α, v = 0 it is `Diagonal(scale=α/√2)` (Even et al. 2023).

        Parameters
        ----------
        lr : float
            The learning rate.
        momentum : float, optional
            Of the heavy ball, or of Nesterov.
        dampening : float, optional
            Must be 0.
        weight_decay : float, optional
            The coefficient of w that is added to the gradient.
        nesterov : bool, optional
            Nesterov's momentum.
        loss : "mse" | "half-mse", optional
            `MSELoss()`, the mean of squares, or half of it, which is L.
        product : bool, optional
            Whether the network is a product β = u∘v of two weights, instead of a difference of powers.
        **others
            Other arguments of `Training`, such as batch.

        Returns
        -------
        Training
            The same steps, in the conventions of Tacit.

        Examples
        --------
        >>> import tacit
        >>> tacit.Training.from_torch(lr=0.01, momentum=0.9, weight_decay=1e-3).step
        0.02
        """
        if dampening:
            raise InputError(
                f"dampening must be 0, got {dampening}: PyTorch does not dampen the first step, so "
                "that no step size is equivalent; multiply lr by 1 − dampening and leave dampening out"
            )
        if loss not in _LOSSES:
            raise InputError(f"loss must be one of {', '.join(map(repr, _LOSSES))}, got {loss!r}")
        factor = _LOSSES[loss] / (2 if product else 1)
        step, decay = factor * _number(lr, "lr"), _number(weight_decay, "weight_decay") / factor
        return cls(step, momentum, nesterov, decay=decay, **others)

    def check_samples(self, samples: int) -> None:
        """Raise `InputError` if the batch is larger than the data.

        Parameters
        ----------
        samples : int
            N, the number of samples.
        """
        if self.batch is not None and self.batch > samples:
            raise InputError(
                f"batch must be at most the number of samples, {samples}, got {self.batch}; batches are "
                "drawn without replacement"
            )

    def describe(self) -> str:
        """One-line description."""
        if self.step == 0:
            parts = ["gradient flow"]
        else:
            parts = [f"{'mini-batch ' if self.batch else ''}gradient descent, step {self.step:g}"]
        if self.momentum:
            parts.append(f"{'Nesterov' if self.nesterov else 'heavy-ball'} momentum {self.momentum:g}")
        if self.batch:
            parts.append(f"batches of {self.batch}")
        if self.decays:
            size = "a function of time" if callable(self.decay) else f"{self.decay:g}"
            until = "" if self.decay_time == math.inf else f" until time {self.decay_time:g}"
            parts.append(f"weight decay {size}{until}")
        if self.label_noise:
            parts.append(f"label noise ±{self.label_noise:g} for {self.noise_steps:,} steps")
        return ", ".join(parts)

    @property
    def decays(self) -> bool:
        """Whether there is weight decay."""
        return callable(self.decay) or self.decay > 0

    @property
    def decay_stays(self) -> bool:
        """Whether the decay is never switched off."""
        return self.decays and self.decay_time == math.inf

    @property
    def time_step(self) -> float:
        """Time per step, step/(1 − momentum)."""
        return self.step / (1 - self.momentum)

    @property
    def decay_steps(self) -> float:
        """The number of steps with weight decay; infinite if it stays on."""
        if not self.decays:
            return 0
        steps = self.decay_time / self.time_step
        return math.inf if math.isinf(steps) else math.ceil(steps - _ON_TIME)

    def decay_at(self, time: float) -> float:
        """The weight decay at a time before decay_time.

        Parameters
        ----------
        time : float
            A training time.

        Returns
        -------
        float
            λ.
        """
        if not callable(self.decay):
            return self.decay
        value = float(as_floats(self.decay(time), f"decay({time:g})", ndim=(0,)))
        if value < 0:
            raise InputError(f"decay must not be negative, got decay({time:g}) = {value:g}")
        return value

    @property
    def delay(self) -> float:
        """The coefficient λ of the second order in the step, γ/2 for plain gradient descent.

        Gradient descent with momentum follows λẅ + ẇ = −∇L to this order (heavy ball: Papazov et al. 2024).
        """
        b = self.momentum
        numerator = 1 - b + 2 * b**2 if self.nesterov else 1 + b
        return self.step * numerator / (2 * (1 - b) ** 2)

    @property
    def noise_delay(self) -> float:
        """γ/(2(1 − β)): the same coefficient for noise that is independent from step to step."""
        return self.step / (2 * (1 - self.momentum))

    @property
    def stable_up_to(self) -> float:
        """The stability limit of step·sharpness/2: 1, 1 + β (heavy ball) or (1 + β)/(1 + 2β) (Nesterov)."""
        b = self.momentum
        return (1 + b) / (1 + 2 * b) if self.nesterov else 1 + b


def attenuation(training: Training) -> float:
    """The factor by which weight decay alone, switched off in the end, multiplies a weight: Π(1 − γλ_k).

    With momentum, it is the end of the linear recursion of a weight without gradient.
    """
    beta, nesterov = training.momentum, training.nesterov
    w, v = 1.0, 0.0
    for k in range(int(training.decay_steps)):
        pull = training.step * training.decay_at(k * training.time_step) * w
        v = beta * v - pull
        w += beta * v - pull if nesterov else v
    return w + v * beta ** (2 if nesterov else 1) / (1 - beta)  # the remaining velocity


def _number(value: Any, name: str) -> float:
    number = float(as_floats(value, name, ndim=(0,)))
    if number < 0:
        raise InputError(f"{name} must not be negative, got {value!r}")
    return number


def _whole(value: Any, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)
