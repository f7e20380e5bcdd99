"""Statements of Woodworth et al. 2020, and the modules that define them."""

import importlib
from typing import Any

THEOREMS = {
    "theorem2-l1": "theorem2",
    "theorem2-l1-proved": "theorem2",
    "theorem2-l1-sharp": "theorem2",
    "theorem2-l2": "theorem2",
    "theorem2-l2-proved": "theorem2",
    "theorem2-l2-sharp": "theorem2",
    "lemma5": "theorem2",
    "lemma6": "theorem2",
    "lemma7": "theorem2",
    "theorem1": "theorems1_3",
    "theorem3": "theorems1_3",
    "theorem3-ends": "ends",
    "lemma8": "lemma8",
    "escape-time": "saddle",
    "explicit": "explicit",
    "sample-size": "sample_size",
    "sample-size-rich": "recovery",
    "theorem4": "theorem4",
    "theorem9": "theorem9",
    "theorem9-sharp": "theorem9",
    "corollary10": "corollary10",
    "lemma11": "theorem9",
    "lemma12": "theorem9",
    "lemma13": "corollary10",
}
_SCALES = ("rich_log_scale", "kernel_log_scale")  # asked for without a theorem


def __getattr__(name: str) -> Any:
    """The scales of Theorem 2, on first use."""
    if name in _SCALES:
        return getattr(importlib.import_module(f"{__name__}.theorem2"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
