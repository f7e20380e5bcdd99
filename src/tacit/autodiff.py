"""JAX, imported here and nowhere else.

Its import draws from the global generators of random numbers, which belong to the user: they are put back.
"""

from __future__ import annotations

import random

import numpy as np

_numpy = np.random.get_state(legacy=False)  # noqa: NPY002 (it is the state that others use)
_python = random.getstate()
try:
    import jax
    import jax.numpy as jnp
finally:
    np.random.set_state(_numpy)  # noqa: NPY002
    random.setstate(_python)

__all__ = ["jax", "jnp"]
