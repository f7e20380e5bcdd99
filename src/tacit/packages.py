"""Optional packages: whether they are installed, and the message that says how to install them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tacit.errors import MissingPackageError

_NAMES = {  # module: name of the package, and the requirement that pip installs
    "distributed": ("Dask", "dask[distributed]>=2024.8"),
    "jax": ("JAX", "jax>=0.8"),
    "openpyxl": ("openpyxl", "openpyxl>=3.1"),
    "pyarrow": ("pyarrow", "pyarrow>=16"),
    "shtab": ("shtab", "shtab>=1.7"),
    "sklearn": ("scikit-learn", "scikit-learn>=1.7"),
    "sympy": ("SymPy", "sympy>=1.13"),
    "torch": ("PyTorch", "torch>=2.3"),
}
_NOT_COMPUTING = ("cli", "report")  # folders of Tacit that no result depends on


def is_installed(package: str) -> bool:
    """Whether this package can be imported."""
    return find_spec(package) is not None


@contextmanager
def needed(package: str, what: str, instead: str = "") -> Iterator[None]:
    """Raise `MissingPackageError` if the import of the package fails inside this context.

    what: the feature that needs the package. instead: what to do without it.
    """
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in (package, ""):
            raise
        name, requirement = _NAMES[package]
        otherwise = f", or {instead}" if instead else ""
        raise MissingPackageError(
            f"{what} needs {name}, which is not installed: pip install '{requirement}'{otherwise}"
        ) from error


@cache
def source_digest(extra: Path | None = None) -> str:
    """A digest of Tacit's files, except command line and reports, and of those in another folder."""
    root = Path(__file__).parent
    found = hashlib.sha256()
    for path in sorted(extra.rglob("*.py") if extra and not extra.is_relative_to(root) else ()):
        found.update(f"{path.name}\0".encode() + path.read_bytes())
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.mplstyle")]):
        place = path.relative_to(root)
        if place.parts[0] not in _NOT_COMPUTING:
            found.update(f"{place.as_posix()}\0".encode() + path.read_bytes())
    return found.hexdigest()[:16]
