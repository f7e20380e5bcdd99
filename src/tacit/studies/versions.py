"""The versions of the software that a result depends on."""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy

import tacit
from tacit.errors import InputError
from tacit.packages import source_digest


@cache
def versions() -> dict[str, str]:
    """Versions of Tacit, NumPy and SciPy; a development version of Tacit with a digest of its source."""
    own = tacit.__version__
    if "dev" in own:
        own = f"{own}+{source_digest()}"
    return {"tacit": own, "numpy": np.__version__, "scipy": scipy.__version__}


def check_versions(expected: dict[str, str]) -> None:
    """Raise `InputError` if the versions differ from those of the process that started the study."""
    for name, version in expected.items():
        if versions()[name] != version:
            raise InputError(
                f"a worker has {name} {versions()[name]}, but the study was started with {version}: install "
                "the same versions everywhere"
            )
