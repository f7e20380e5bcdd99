r"""An explicit Runge–Kutta method of order 8 that JAX compiles as a whole: y' = f(y) over a time of 1.

Ways along a leaf are many and short, and what a call from Python costs would be most of their time. The
method, its coefficients and its error estimate are those of DOP853 (Hairer, Nørsett and Wanner 1993, II.10).
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
_SAFETY, _SHRINK, _GROW, _ORDER = 0.9, 0.2, 10.0, 8
_FIRST = 0.01  # of the state, that the first step may change
_SHORTEST = 1e-11  # step, relative to the time: before it the way has ended


def integrated(
    rate: Callable[[Any], Any], begun: Any, floor: Callable[[Any], Any], tol: float, most: int
) -> tuple[Any, Any, Any]:
    """The last state, the time that it was reached at, and its rate; time below 1 where the way ends before.

    floor: of the first rate, the sizes to which each entry is accurate at least. most: steps.
    """

    def stages(state: Any, first: Any, step: Any) -> Any:
        def one(at: Any, K: Any) -> Any:
            return K.at[at].set(rate(state + step * (jnp.asarray(_TABLE)[at] @ K)))

        K = jnp.zeros((_STAGES + 1, len(state))).at[0].set(first)
        return jax.lax.fori_loop(1, _STAGES + 1, one, K)

    def advance(carry: Any) -> Any:
        state, first, time, step, scale0, count = carry
        K = stages(state, first, step)
        ahead = state + step * (jnp.asarray(_TABLE)[_STAGES] @ K)
        fresh = count == 0  # the first round stands still, and finds the rate
        scale0 = jnp.where(fresh, floor(K[-1]), scale0)
        error = _error(K, step, tol * (scale0 + jnp.maximum(abs(state), abs(ahead))))
        error = jnp.where(
            jnp.isfinite(error) & jnp.isfinite(K).all() & jnp.isfinite(ahead).all(), error, jnp.inf
        )
        good = error < 1
        factor = jnp.clip(_SAFETY * error ** (-1 / _ORDER), _SHRINK, jnp.where(good, _GROW, 1.0))
        begin = _FIRST * jnp.min((scale0 + abs(state)) / jnp.where(K[-1] == 0, 1e-300, abs(K[-1])))
        state, first = jnp.where(good, ahead, state), jnp.where(good, K[-1], first)
        time = jnp.where(good, time + step, time)
        step = jnp.where(fresh, begin, step * factor)
        return state, first, time, jnp.minimum(step, 1 - time), scale0, count + 1

    def goes_on(carry: Any) -> Any:
        _, _, time, step, _, count = carry
        return (time < 1) & (count < most) & ((count == 0) | (step > _SHORTEST * time))

    still = jnp.zeros_like(begun)
    state, first, time, *_ = jax.lax.while_loop(goes_on, advance, (begun, still, 0.0, 0.0, still, 0))
    return state, time, first


def _error(K: Any, step: Any, scale: Any) -> Any:
    """The estimate of DOP853, below 1 where the step is good."""
    fifth, third = (jnp.sum((jnp.asarray(each) @ K / scale) ** 2) for each in (_FIFTH, _THIRD))
    bottom = jnp.where(fifth + 0.01 * third > 0, fifth + 0.01 * third, 1.0)
    return abs(step) * fifth / jnp.sqrt(bottom * len(scale))
