"""JAX, which no other module imports.

Importing JAX draws from the global random number generators and sets environment variables. Both belong to
the user, so they are restored afterwards.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from tacit.errors import InputError, TacitError
from tacit.packages import needed

_numpy = np.random.get_state(legacy=False)  # noqa: NPY002 (the global state that JAX changes)
_python = random.getstate()
_environment = dict(os.environ)
try:
    with needed("jax", "differentiating a function (tacit.derive, tacit.model, tacit.Network)"):
        import jax
        import jax.numpy as jnp
        from jax.scipy.linalg import solve_triangular
finally:
    np.random.set_state(_numpy)  # noqa: NPY002
    random.setstate(_python)
    for _name in set(os.environ) - set(_environment):
        del os.environ[_name]
    os.environ.update(_environment)

__all__ = ["jax", "jnp", "readable_errors", "solve_triangular"]


@contextmanager
def readable_errors(function: str, usage: str) -> Iterator[None]:
    """Turn errors of JAX and of the user's function into an `InputError` that names the function.

    usage: what the function takes and returns.
    """
    try:
        yield
    except TacitError:
        raise
    except jax.errors.JAXTypeError as error:
        raise InputError(
            f"{function} cannot be traced by JAX: write it with jax.numpy or plain arithmetic, without "
            "branches on values, and without NumPy functions or float() on anything computed from its "
            f"arguments ({_first_line(error)})"
        ) from error
    except (TypeError, ValueError, AttributeError, KeyError, IndexError, NotImplementedError) as error:
        raise InputError(
            f"{function} failed: {type(error).__name__}: {_first_line(error)}; it must {usage}"
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
