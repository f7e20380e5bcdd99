"""How a flow ends short of its goal, and every sentence that says why."""

from __future__ import annotations

from typing import Any

from tacit.data.status import Status


class Stall(Exception):  # noqa: N818 (not an error: the flow says how it ends)
    """The flow cannot go on; the message says why."""

    status = Status.STALLED


class GaveUp(Stall):
    """The stepper finds no step that is accurate enough."""


class Rest(Stall):
    """Nothing moves any more. minimum: where the loss, as far as it can be told, is a (local) minimum."""

    status = Status.STATIONARY
    last: tuple[Any, float] | None = None

    def __init__(self, message: str, minimum: bool = False):
        super().__init__(message)
        self.minimum = minimum


class Rounded(Rest):
    """Only round-off is left to do. last: a state and its level, if they are not those of the last step."""

    status = Status.ROUNDING

    def __init__(self, last: tuple[Any, float] | None = None) -> None:
        super().__init__(ROUNDED)
        self.last = last


ROUNDED = "the residual has reached the rounding of the data; ask for a smaller accuracy"

# The driver: what no flow can do, and what it might do for ever.
RISES = (
    "the loss rises, which it cannot do along a flow: the integrator has lost its way, and what it found "
    "after this instant is not kept"
)
NO_GAIN = (
    "no gain in accuracy over the last {:,} steps: a saddle or a stationary point, or the tolerance is too "
    "coarse for the accuracy asked for (lower rtol)"
)

# Steppers: no step is accurate enough.
UNDERFLOW = (
    "step size underflow: at this depth and scale the transition is too fast to resolve in double precision"
)
PREDICTED = "; tacit.limit predicts where the flow ends"
NO_STEP = "step size underflow at clock {:.6g}: no step is accurate enough"
GAVE_UP = "the integrator gave up at clock {:.6g} ({})"
UNEVEN = (
    "the features differ so much in size that rounding decides the margins; rescale them, each to a largest "
    "entry of about 1"
)
NOT_FALLING = "the loss does not fall along any step, however short"
SWITCHES = "the flow met the kink more than {:,} times"

# Starts that no flow leaves.
NO_GRADIENT = "the gradient is zero at the start: {}, which no flow leaves"
NO_TANGENT = "the tangent kernel does not move the outputs: the linearized model stands still"

# Rest: the gradient is 0 as far as floats can tell, and the loss is not.
OVERFLOWN = "the weights left the range of floats"
ROUNDING_LEFT = "at rest: what is left of the residual is rounding"
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
UNCHANGED = "the steps no longer change any weight: the gradient is below the rounding of the weights"

# Stopped flows.
UNFITTABLE = "no predictor fits the samples so well"
TOO_LONG = "no step is short enough"
ENOUGH = "enough was seen"
