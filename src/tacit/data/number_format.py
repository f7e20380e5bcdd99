"""Numbers as people read them."""

from __future__ import annotations

_TELLING = (-1.0, 1.0, 2.0)  # at ±1 a shape ends and a slope is none, depth 2 has a potential of its own


def shown(number: float, digits: int = 6) -> str:
    """The number in a few digits; as 1 - 1e-12 where these would make it look like 1 (or -1, or 2)."""
    text = f"{number:.{digits}g}"
    near = float(text)
    if near == number or near not in _TELLING:
        return text
    gap = number - near  # exact
    return f"{text} {'+' if gap > 0 else '-'} {abs(gap):.2g}"
