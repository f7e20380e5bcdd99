"""Plain numbers, lists and text, as JSON knows them."""

from __future__ import annotations

import math
from typing import Any

MADE_BY = "made by Tacit"


def as_json(value: Any) -> Any:
    """Dicts, lists, text and numbers; NaN and infinities, for which JSON has no words, become null."""
    if isinstance(value, dict):
        return {key: as_json(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return as_json(value.tolist()) if hasattr(value, "tolist") else value
