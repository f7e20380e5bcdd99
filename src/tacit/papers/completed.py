"""Figures that a folder already has: whole, and made by the software, sizes and seed that are asked for."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tacit
from tacit.packages import is_installed
from tacit.papers.catalogue import folder_of, papers

_LIBRARIES = ("numpy", "scipy", "jax", "matplotlib")
_NO_PART = ("cli", "report")  # folders that no figure depends on


def made_with(key: str = "") -> dict[str, str]:
    """Versions of what makes a figure, and a digest of the source, of Tacit and of a paper by others."""
    paper = key.partition("/")[0]
    folder = folder_of(paper) if paper in papers() else None
    return {
        "tacit": tacit.__version__,
        "python": platform.python_version(),
        **{name: version(name) for name in _LIBRARIES if is_installed(name)},
        "source": _source(folder),
    }


@cache
def _source(paper: Path | None) -> str:
    """A digest of Tacit's files, without the command line and reports, and of a paper elsewhere."""
    root = Path(tacit.__file__).parent
    found = hashlib.sha256()
    for path in sorted(paper.rglob("*.py") if paper and not paper.is_relative_to(root) else ()):
        found.update(f"{path.name}\0".encode() + path.read_bytes())
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.mplstyle")]):
        place = path.relative_to(root)
        if place.parts[0] not in _NO_PART:
            found.update(f"{place.as_posix()}\0".encode() + path.read_bytes())
    return found.hexdigest()[:16]


def digest(content: bytes) -> str:
    """What tells a file from another."""
    return hashlib.sha256(content).hexdigest()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_NEEDED: dict[str, Callable[[Any], bool]] = {  # what the JSON of every figure has
    "caption": lambda value: isinstance(value, str),
    "preset": lambda value: isinstance(value, str),
    "seed": lambda value: isinstance(value, int),
    "parameters": lambda value: isinstance(value, dict),
    "claims": lambda value: isinstance(value, list) and all(map(_is_claim, value)),
    "holds": lambda value: isinstance(value, bool),
    "seconds": _is_number,
    "made_with": lambda value: isinstance(value, dict),
}


def _is_claim(value: Any) -> bool:
    """Text, numbers (or null), the threshold in words and the verdict."""
    words = (value["text"], value["threshold"])
    numbers = (value["measured"], value["at_most"], value["at_least"])
    is_said = all(isinstance(each, str) for each in words) and value["verdict"] in ("holds", "fails")
    return is_said and all(each is None or _is_number(each) for each in numbers)


def kept(entry: Any, out: str | Path) -> dict[str, Any] | None:
    """What the JSON of a figure says, whatever made it; None where it is missing, or not whole.

    A run that was killed while files took their places may leave some of one figure and some of another, and
    somebody may have edited them.
    """
    files = entry.files(out)
    try:
        content = json.loads(Path(files["json"]).read_text(encoding="utf-8"))
        if content["figure"] != entry.key or not all(good(content[name]) for name, good in _NEEDED.items()):
            return None
        there = {kind: digest(Path(files[kind]).read_bytes()) for kind in files if kind != "json"}
        whole = content["sha256"] == there
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return {**content, "files": files} if whole else None  # the folder may have another name by now


def finished(entry: Any, *, preset: str, seed: int, out: str | Path) -> dict[str, Any] | None:
    """What the JSON says of a figure that would come out the same; None where it has to be made."""
    from tacit.data.json_values import as_json

    content = kept(entry, out)
    asked = {"preset": preset, "seed": seed, "parameters": as_json(entry.presets[preset])}
    same = content is not None and all(
        content.get(name) == value for name, value in {**asked, "made_with": made_with(entry.key)}.items()
    )
    return content if same else None
