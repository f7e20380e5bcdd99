"""JAX, imported here and nowhere else.

Its import draws from the global generators of random numbers and sets environment variables, which all belong
to the user: they are put back.
"""

from __future__ import annotations

import os
import random

import numpy as np

from tacit.packages import needed

_numpy = np.random.get_state(legacy=False)  # noqa: NPY002 (it is the state that others use)
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

__all__ = ["jax", "jnp", "solve_triangular"]
