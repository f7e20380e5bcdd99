"""Exceptions that end a flow before its goal, and all reasons reported to users."""

from __future__ import annotations

from typing import Any

from tacit.data.status import Status


class Stall(Exception):  # noqa: N818 (not an error, but a way for a flow to end)
    """The flow cannot continue; the message gives the reason."""

    status = Status.STALLED


class GaveUp(Stall):
    """The stepper cannot find a sufficiently accurate step."""


class Rest(Stall):
    """The flow has reached a stationary point. minimum: whether the loss is, numerically, at a (local)
    minimum."""

    status = Status.STATIONARY
    last: tuple[Any, float] | None = None

    def __init__(self, message: str, minimum: bool = False):
        super().__init__(message)
        self.minimum = minimum


class Rounded(Rest):
    """The residual is round-off. last: a state and its level, if not those of the last step."""

    status = Status.ROUNDING

    def __init__(self, last: tuple[Any, float] | None = None) -> None:
        super().__init__(ROUNDED)
        self.last = last


ROUNDED = "the residual has reached the round-off of the data; request a smaller accuracy"

# Raised by the driver.
RISES = (
    "the loss rises, which is impossible along gradient flow: the integrator has failed, and its results "
    "after this time are discarded"
)
NO_GAIN = (
    "no gain in accuracy over the last {:,} steps: a saddle or a stationary point, or the tolerance is too "
    "large for the requested accuracy (lower rtol)"
)

# No step is accurate enough.
UNDERFLOW = (
    "step size underflow: at this depth and scale the transition is too fast to resolve in double precision"
)
PREDICTED = "; tacit.limit predicts where the flow ends"
NO_STEP = "step size underflow at clock {:.6g}: no step is accurate enough"
GAVE_UP = "the integrator gave up at clock {:.6g} ({})"
UNEVEN = (
    "the features differ so much in size that the margins are dominated by round-off; rescale each feature "
    "to a largest entry of about 1"
)
NOT_FALLING = "the loss does not decrease along any step, however short"
SWITCHES = "the flow crossed the kink more than {:,} times"

# Stationary starts.
NO_GRADIENT = "the gradient is zero at the start, which is {}: the flow stays there"
NO_TANGENT = "the tangent kernel annihilates the gradient of the loss: the linearized model does not change"

# At rest: the gradient is 0 up to round-off, but the loss is not.
OVERFLOWN = "the weights overflowed"
ROUNDING_LEFT = "at rest: the remaining residual is round-off"
AT_MINIMUM = (
    "at rest at a minimum with nonzero loss: every weight has come to rest, and the model cannot fit these "
    "data from here"
)
AT_SADDLE = "{} with nonzero loss: every weight has come to rest (the model cannot fit these data from here)"
TANGENT_SINGULAR = (
    "at rest with nonzero loss: the tangent kernel is singular, and the linearized model cannot fit these "
    "data"
)

# Gradient descent.
OUT_OF_STEPS = "stopped after {:,} steps of size {:g}; most_steps allows more"
DIVERGED = "the weights diverged: the step {:g} is too large"
UNCHANGED = "the steps no longer change any weight: the gradient is below the round-off of the weights"

# Stopped flows.
UNFITTABLE = "no predictor fits the samples to this accuracy"
TOO_LONG = "no step size is small enough"
ENOUGH = "stopped by the callback"
