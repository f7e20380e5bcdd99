"""Files that Tacit writes: never over something it did not write itself."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tacit.errors import InputError

MADE_BY = "made by Tacit"


def claim_path(path: str | Path) -> Path:
    """The path, with its folder made, if nothing of the user's is there; `InputError` otherwise."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it")
    if path.exists() and MADE_BY.encode() not in path.read_bytes():
        raise InputError(f"{path} exists and was not written by Tacit; choose another name or move it away")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {path.parent} ({error.strerror})") from None
    return path


def write_json(content: dict[str, Any], path: str) -> None:
    """JSON into a file, or to standard output if the path is "-"."""
    text = json.dumps({"made_by": MADE_BY, **content}, indent=2, ensure_ascii=False, default=float)
    if path == "-":
        sys.stdout.write(text + "\n")
        return
    claim_path(path).write_text(text + "\n", encoding="utf-8")
