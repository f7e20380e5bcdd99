"""The steps of `tacit.networks.exponential_flow`, which has the formulas, in a loop that JAX compiles."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from tacit.autodiff import jax, jnp
from tacit.networks.in_jax import InJax

_SMALL = 1e-4  # below it the integrals are their series: z³/24 is left out
_NOTHING = 1e-13  # of the largest eigenvalue of K, or of the weights: rounding, which moves nothing
_SHORTEST = 1e-12  # of the time scale 1/tr K at the start: a step that no kink may shorten


class State(NamedTuple):
    """Where the flow is, and what was found there."""

    weights: Any
    residual: Any
    jacobian: Any
    step: Any
    time: Any
    count: Any
    rests: Any


@partial(jax.jit, static_argnums=0)
def steps(backend: InJax, start: Any, X: Any, y: Any, loss: Any, tol: Any, most: Any) -> State:
    def around(weights: Any) -> tuple[Any, Any]:
        """Residuals and their Jacobian."""

        def residual(flat: Any) -> Any:
            return backend.traced(backend.parts(flat), X)[:, 0] - y

        return residual(weights), jax.jacrev(residual)(weights)

    def unfinished(now: State) -> Any:
        mean = jnp.mean(now.residual**2)
        return (mean > loss) & jnp.isfinite(mean) & (now.count < most) & ~now.rests

    residual, J = around(start)
    shortest = _SHORTEST / jnp.sum(J**2)

    def advance(now: State) -> State:
        w, r, J, h = now.weights, now.residual, now.jacobian, now.step
        plain, _ = _integrals(J @ J.T, r, h)
        first = w - J.T @ plain
        _, ahead = around(first)
        whole, late = _integrals((J @ J.T + ahead @ ahead.T) / 2, r, h)
        second = w - J.T @ (whole - late) - ahead.T @ late
        error = jnp.linalg.norm(second - first) / (tol * jnp.linalg.norm(second))
        taken = (error <= 1) | (h <= shortest)
        factor = jnp.clip(0.9 / jnp.sqrt(jnp.maximum(error, 1e-12)), 0.2, 5.0)
        rests = (h * jnp.sum(J**2) > 1) & (jnp.linalg.norm(second - w) <= _NOTHING * jnp.linalg.norm(w))
        there = State(second, *around(second), h, now.time + h, now.count, rests)
        kept = jax.tree.map(partial(jnp.where, taken), there, now)
        return kept._replace(step=jnp.maximum(h * factor, shortest), count=now.count + 1)

    begin = State(
        start, residual, J, 1e-2 / jnp.sum(J**2), jnp.zeros(()), jnp.zeros((), int), jnp.zeros((), bool)
    )
    return jax.lax.while_loop(unfinished, advance, begin)


def _integrals(K: Any, r: Any, h: Any) -> tuple[Any, Any]:
    """∫₀ʰ e^{−tK}r dt and ∫₀ʰ (t/h) e^{−tK}r dt."""
    rates, modes = jnp.linalg.eigh(K)
    z = jnp.maximum(rates, 0) * h
    moving = rates > _NOTHING * rates[-1]
    large = jnp.maximum(z, _SMALL)
    decayed = -jnp.expm1(-large)
    whole = jnp.where(z < _SMALL, 1 - z / 2 + z**2 / 6, decayed / large)
    late = jnp.where(z < _SMALL, 1 / 2 - z / 3 + z**2 / 8, (decayed - large * jnp.exp(-large)) / large**2)
    share = jnp.where(moving, h * (modes.T @ r), 0)
    return modes @ (whole * share), modes @ (late * share)
