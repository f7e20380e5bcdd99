"""Properties of the predicted limit of a training, besides its predictor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tacit.data.arrays import Float


@dataclass(frozen=True, eq=False)
class Trained:
    """The differences between a training and gradient flow, and the accuracy of their prediction.

    training: the settings. order: "exact", "second order in the step" or "leading order in the noise". flow:
    the predictor where gradient flow ends. error: an estimate of ‖prediction − end of the run‖/‖prediction‖.
    edge: step·sharpness/2 at the end. stable_up_to: the value of it beyond which oscillations grow. note: a
    remark for the summary. start: the model before training.
    """

    training: Any
    order: str
    flow: Float = field(repr=False)
    error: float
    edge: float
    stable_up_to: float
    note: str
    start: Any
