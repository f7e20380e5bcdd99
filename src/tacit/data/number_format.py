"""Short decimal representations of numbers."""

from __future__ import annotations

# Special values: shapes lie strictly between ±1, slope 1 is linear, and depth 2 has a potential of its own.
_SPECIAL = (-1.0, 1.0, 2.0)


def shown(number: float, digits: int = 6) -> str:
    """Format with a few digits; as "1 - 1e-12" if rounding would give a special value (1, -1 or 2)."""
    text = f"{number:.{digits}g}"
    near = float(text)
    if near == number or near not in _SPECIAL:
        return text
    gap = number - near  # exact: the two are close
    return f"{text} {'+' if gap > 0 else '-'} {abs(gap):.2g}"
