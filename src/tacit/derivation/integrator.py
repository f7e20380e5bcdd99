r"""An explicit Runge–Kutta method of order 8 that JAX compiles as a whole: y' = f(y) for 0 ≤ t ≤ 1.

Paths along an orbit are many and short, so calls from Python would take most of the time. The method, its
coefficients and its error estimate are those of DOP853 (Hairer, Nørsett and Wanner 1993, II.10).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import DOP853

from tacit.autodiff import jax, jnp

_STAGES = 12
_TABLE = np.zeros((_STAGES + 1, _STAGES + 1))
_TABLE[:_STAGES, :_STAGES] = DOP853.A[:_STAGES, :_STAGES]
_TABLE[_STAGES, :_STAGES] = DOP853.B
_FIFTH, _THIRD = np.asarray(DOP853.E5), np.asarray(DOP853.E3)
_SAFETY, _SHRINK, _GROW, _ORDER = 0.9, 0.2, 10.0, 8  # step control
_FIRST = 0.01  # relative change of the state in the first step
_SHORTEST = 1e-11  # smallest step relative to the time; below it the path ends, as at a singularity


def integrate(
    rate: Callable[[Any], Any], initial: Any, floor: Callable[[Any], Any], tol: float, max_steps: int
) -> tuple[Any, Any, Any]:
    """The final state, its time, and its rate; the time is below 1 if the path ends before.

    floor: maps the first rate to sizes of the entries to which the tolerance is relative if these are
    smaller.
    """

    def stages(state: Any, first: Any, step: Any) -> Any:
        def stage(at: Any, K: Any) -> Any:
            return K.at[at].set(rate(state + step * (jnp.asarray(_TABLE)[at] @ K)))

        K = jnp.zeros((_STAGES + 1, len(state))).at[0].set(first)
        return jax.lax.fori_loop(1, _STAGES + 1, stage, K)

    def advance(carry: Any) -> Any:
        state, first, time, step, scale0, count = carry
        K = stages(state, first, step)
        ahead = state + step * (jnp.asarray(_TABLE)[_STAGES] @ K)
        initializing = count == 0  # the first iteration has step 0 and only computes the rate
        scale0 = jnp.where(initializing, floor(K[-1]), scale0)
        error = _error(K, step, tol * (scale0 + jnp.maximum(abs(state), abs(ahead))))
        finite = jnp.isfinite(error) & jnp.isfinite(K).all() & jnp.isfinite(ahead).all()
        error = jnp.where(finite, error, jnp.inf)
        accepted = error < 1
        factor = jnp.clip(_SAFETY * error ** (-1 / _ORDER), _SHRINK, jnp.where(accepted, _GROW, 1.0))
        first_step = _FIRST * jnp.min((scale0 + abs(state)) / jnp.where(K[-1] == 0, 1e-300, abs(K[-1])))
        state, first = jnp.where(accepted, ahead, state), jnp.where(accepted, K[-1], first)
        time = jnp.where(accepted, time + step, time)
        step = jnp.where(initializing, first_step, step * factor)
        return state, first, time, jnp.minimum(step, 1 - time), scale0, count + 1

    def unfinished(carry: Any) -> Any:
        _, _, time, step, _, count = carry
        return (time < 1) & (count < max_steps) & ((count == 0) | (step > _SHORTEST * time))

    zeros = jnp.zeros_like(initial)
    state, first, time, *_ = jax.lax.while_loop(unfinished, advance, (initial, zeros, 0.0, 0.0, zeros, 0))
    return state, time, first


def _error(K: Any, step: Any, scale: Any) -> Any:
    """The error estimate of DOP853; the step is accepted if it is below 1."""
    fifth, third = (jnp.sum((jnp.asarray(each) @ K / scale) ** 2) for each in (_FIFTH, _THIRD))
    bottom = jnp.where(fifth + 0.01 * third > 0, fifth + 0.01 * third, 1.0)
    return abs(step) * fifth / jnp.sqrt(bottom * len(scale))
