"""Figures that already exist in a folder, complete, and made with the same software, parameters and seed."""

from __future__ import annotations

import hashlib
import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tacit
from tacit.packages import is_installed, source_digest
from tacit.papers.catalogue import folder_of, papers

_LIBRARIES = ("numpy", "scipy", "jax", "matplotlib")


def made_with(key: str = "") -> dict[str, str]:
    """The versions of the software that makes a figure, and a digest of the source of Tacit and the paper."""
    paper = key.partition("/")[0]
    folder = folder_of(paper) if paper in papers() else None
    return {
        "tacit": tacit.__version__,
        "python": platform.python_version(),
        **{name: version(name) for name in _LIBRARIES if is_installed(name)},
        "source": source_digest(folder),
    }


def digest(content: bytes) -> str:
    """A hash that identifies the content of a file."""
    return hashlib.sha256(content).hexdigest()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# Required entries of the JSON of a figure, and their types.
_NEEDED = {"caption": str, "preset": str, "seed": int, "parameters": dict, "claims": list, "holds": bool}
_NEEDED |= {"made_with": dict}


def _is_complete(content: Any) -> bool:
    """Whether the JSON of a figure has all entries with the right types."""
    typed = all(isinstance(content[name], kind) for name, kind in _NEEDED.items())
    return typed and _is_number(content["seconds"]) and all(map(_is_claim, content["claims"]))


def _is_claim(value: Any) -> bool:
    """Whether the entry has a text, numbers (or null), a threshold as text, and a verdict."""
    texts = (value["text"], value["threshold"])
    numbers = (value["measured"], value["at_most"], value["at_least"])
    valid = all(isinstance(each, str) for each in texts) and value["verdict"] in ("holds", "fails")
    return valid and all(each is None or _is_number(each) for each in numbers)


def kept(entry: Any, out: str | Path) -> dict[str, Any] | None:
    """The content of the JSON of a figure made by any software; None if files are missing or changed.

    The files may be inconsistent if a run was killed while it replaced them, or if they were edited.
    """
    files = entry.files(out)
    try:
        content = json.loads(Path(files["json"]).read_text(encoding="utf-8"))
        if content["figure"] != entry.key or not _is_complete(content):
            return None
        there = {kind: digest(Path(files[kind]).read_bytes()) for kind in files if kind != "json"}
        complete = content["sha256"] == there
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return {**content, "files": files} if complete else None  # the folder may have been renamed


def finished(entry: Any, *, preset: str, seed: int, out: str | Path) -> dict[str, Any] | None:
    """The content of the JSON of a figure that need not be made again; None if it has to be made."""
    from tacit.data.json_values import as_json

    content = kept(entry, out)
    expected = {"preset": preset, "seed": seed, "parameters": as_json(entry.presets[preset])}
    expected["made_with"] = made_with(entry.key)
    return content if content is not None and content | expected == content else None
