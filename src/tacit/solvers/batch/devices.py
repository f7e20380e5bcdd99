"""The device of a batch: the CPU, with NumPy, or a GPU, with JAX."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from tacit.errors import InputError, MissingDeviceError
from tacit.packages import is_installed, needed

# Entries of X times problems from which on starting JAX on a GPU, which takes seconds, can pay.
_LARGE = 1e9


def chosen_device(device: str, work: float) -> Any:
    """A GPU of JAX, or None for the CPU.

    device: "cpu", "gpu", or "auto" for a GPU if there is one and the work (entries of X times problems) is
    large enough.
    """
    if device not in ("auto", "cpu", "gpu"):
        raise InputError(f'device must be "auto", "cpu" or "gpu", got {device!r}')
    if device == "cpu" or (device == "auto" and (work < _LARGE or not _may_have_gpu())):
        return None
    if device == "auto":
        return first_gpu()
    with needed("jax", "device='gpu'", instead="use device='cpu'"):
        from tacit.autodiff import jax
    found = first_gpu()
    if found is None:
        others = ", ".join(sorted({each.platform for each in jax.devices()}))
        raise MissingDeviceError(
            f"device='gpu' needs a GPU that JAX can use, but JAX {jax.__version__} finds only: {others}. "
            "Install JAX with GPU support (for NVIDIA: pip install 'jax[cuda12]'), or use device='cpu'"
        )
    return found


def _may_have_gpu() -> bool:
    """Whether JAX and one of its plugins for accelerators are installed; this does not import JAX."""
    return is_installed("jax") and len(entry_points(group="jax_plugins")) > 0


def first_gpu() -> Any:
    """The first GPU of JAX, or None."""
    from tacit.autodiff import jax

    try:
        return jax.devices("gpu")[0]
    except RuntimeError:
        return None
