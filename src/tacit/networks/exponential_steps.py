"""The compiled loop of `tacit.networks.exponential_flow`, which has the formulas."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from tacit.autodiff import jax, jnp
from tacit.networks.in_jax import InJax

_SERIES = 1e-4  # below this z = λh the integrals are evaluated by their series, whose error is z³/24
_ROUND_OFF = 1e-13  # eigenvalues relative to the largest, or changes relative to the weights, that count as 0
_SHORTEST = 1e-12  # shortest step, in units of 1/tr K at the start; kinks of the network cannot shorten it
_FIRST_STEP = 1e-2  # in the same units


class State(NamedTuple):
    """The state of the integration. rests: whether a long step no longer changes the weights."""

    weights: Any
    residual: Any
    jacobian: Any
    step: Any
    time: Any
    count: Any
    rests: Any


@partial(jax.jit, static_argnums=0)
def steps(backend: InJax, start: Any, X: Any, y: Any, loss: Any, tol: Any, most: Any) -> State:
    """Integrate until the mean square residual is at most `loss`, the flow rests, or after `most` steps."""

    def linearize(weights: Any) -> tuple[Any, Any]:
        """Residuals and their Jacobian."""

        def residual(flat: Any) -> Any:
            return backend.traced(backend.parts(flat), X)[:, 0] - y

        return residual(weights), jax.jacrev(residual)(weights)

    def unfinished(now: State) -> Any:
        mean = jnp.mean(now.residual**2)
        return (mean > loss) & jnp.isfinite(mean) & (now.count < most) & ~now.rests

    residual, J = linearize(start)
    shortest = _SHORTEST / jnp.sum(J**2)

    def advance(now: State) -> State:
        w, r, J, h = now.weights, now.residual, now.jacobian, now.step
        constant, _ = _integrals(J @ J.T, r, h)
        first = w - J.T @ constant
        _, J1 = linearize(first)
        whole, late = _integrals((J @ J.T + J1 @ J1.T) / 2, r, h)
        second = w - J.T @ (whole - late) - J1.T @ late
        error = jnp.linalg.norm(second - first) / (tol * jnp.linalg.norm(second))
        taken = (error <= 1) | (h <= shortest)
        factor = jnp.clip(0.9 / jnp.sqrt(jnp.maximum(error, 1e-12)), 0.2, 5.0)
        rests = (h * jnp.sum(J**2) > 1) & (jnp.linalg.norm(second - w) <= _ROUND_OFF * jnp.linalg.norm(w))
        after = State(second, *linearize(second), h, now.time + h, now.count, rests)
        state = jax.tree.map(partial(jnp.where, taken), after, now)
        return state._replace(step=jnp.maximum(h * factor, shortest), count=now.count + 1)

    zeros = jnp.zeros(()), jnp.zeros((), int), jnp.zeros((), bool)
    return jax.lax.while_loop(
        unfinished, advance, State(start, residual, J, _FIRST_STEP / jnp.sum(J**2), *zeros)
    )


def _integrals(K: Any, r: Any, h: Any) -> tuple[Any, Any]:
    """The integrals ∫₀ʰ e^{−tK}r dt and ∫₀ʰ (t/h) e^{−tK}r dt."""
    rates, modes = jnp.linalg.eigh(K)
    z = jnp.maximum(rates, 0) * h
    large = jnp.maximum(z, _SERIES)
    decayed = -jnp.expm1(-large)
    whole = jnp.where(z < _SERIES, 1 - z / 2 + z**2 / 6, decayed / large)
    late = jnp.where(z < _SERIES, 1 / 2 - z / 3 + z**2 / 8, (decayed - large * jnp.exp(-large)) / large**2)
    parts = jnp.where(rates > _ROUND_OFF * rates[-1], h * (modes.T @ r), 0)
    return modes @ (whole * parts), modes @ (late * parts)
