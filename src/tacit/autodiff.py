"""JAX, which no other module imports.

Importing JAX draws from the global random number generators and sets environment variables. Both belong to
the user, so they are restored afterwards.
"""

from __future__ import annotations

import os
import random

import numpy as np

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

__all__ = ["jax", "jnp", "solve_triangular"]
