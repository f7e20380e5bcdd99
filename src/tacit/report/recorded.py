"""Figures that need data which few machines have: as they were made once, at the sizes of the paper."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tacit.report.panels import Shown

_PLACES = (
    Path(__file__).with_name("networks"),  # where pyproject.toml has it put when a package is built
    Path(__file__).parents[3] / "docs" / "networks",  # of a working copy
)
_LIBRARIES = ("python", "numpy", "jax")


def or_recorded(shown: Shown) -> Shown:
    """The figure itself, if it was made; otherwise what is on record of it, if anything is."""
    if shown.is_made:
        return shown
    for place in _PLACES:
        path, picture = (place / f"{shown.entry.key}.{kind}" for kind in ("json", "png"))
        if path.is_file() and picture.is_file():
            content = _content(json.loads(path.read_text(encoding="utf-8")))
            return replace(
                shown, content=content, picture=picture.read_bytes(), instead_of=shown.reason_why_not
            )
    return shown


def _content(content: Mapping[str, Any]) -> dict[str, Any]:
    """What the calls took together, on what machine; drawing took the second that the file has itself."""
    calls = content["parameters"]["calls"]
    sizes: dict[str, list[Any]] = {}
    for call in calls:
        for name, value in call["parameters"].items():
            sizes.setdefault(name, [])
            sizes[name] += [value] * (value not in sizes[name])
    return {
        **content,
        "parameters": {name: values[0] if len(values) == 1 else values for name, values in sizes.items()},
        "seconds": sum(call["seconds"] for call in calls),
        "made_with": {name: calls[0][name] for name in _LIBRARIES},
        "device": calls[0]["device"],
    }
