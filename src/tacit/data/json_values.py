"""Conversion to values that JSON can represent."""

from __future__ import annotations

import math
from typing import Any

MADE_BY = "made by Tacit"


def as_json(value: Any) -> Any:
    """Convert to dicts, lists, strings and numbers; NaN and infinities, which JSON lacks, become null."""
    if isinstance(value, dict):
        return {key: as_json(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return as_json(value.tolist()) if hasattr(value, "tolist") else value
