"""The notebook in which this process runs, if there is one."""

from __future__ import annotations

import sys
from typing import Any


def notebook() -> Any:
    """The IPython shell of a notebook; None elsewhere, also in a terminal. IPython is not imported."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get_ipython() if get_ipython else None
    return shell if hasattr(shell, "kernel") else None
