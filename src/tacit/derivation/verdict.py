"""What the numbers of a parametrization prove, as a word and a sentence."""

from __future__ import annotations

from tacit.derivation.closure import CLEAR, ZERO, Closure
from tacit.derivation.leaf import Metric

Verdict = tuple[str, str]
_BAND = f"between {ZERO:.0e}, below which it counts as 0, and {CLEAR:.0e}, above which it does not"


def judge_span(closure: Closure, d: int) -> Verdict | None:
    """What ranks alone decide; None where the metric must tell."""
    at_start, best = closure.rank
    if best == 0:
        return "undecided", (
            "θ₀ is a critical point of every Fᵢ, so that no gradient flow leaves it; another start decides."
        )
    if best < d:
        return "none", (
            f"The Jacobian has rank {best} < {d} along the orbit of θ₀, so that w moves on a surface of "
            f"dimension {best} and M = JJᵀ is singular: no function has M⁻¹ as its Hessian. Where the "
            "surface is flat, coordinates on it may have a potential."
        )
    if at_start < d:
        return "undecided", (
            f"The Jacobian has rank {at_start} at θ₀ but {d} on its orbit: M = JJᵀ is singular at θ₀ itself, "
            "and w is no coordinate there. A start a little further along the flow decides."
        )
    return None


def judge(closure: Closure, metric: Metric, d: int) -> Verdict:
    """The verdict on a Jacobian of full rank, and why."""
    n = closure.dimension
    reach = f"{'' if closure.closed else 'at least '}{n}"
    if n > d and metric.spread >= CLEAR:
        return "none", (
            f"The Lie algebra of the gradient fields has dimension {reach} > {d} along the orbit of θ₀, and "
            f"M = JJᵀ changes, by more than a factor (relative size {metric.spread:.1e}), in directions of "
            "the orbit in which w does not: in no clock is w' a function of w, and no potential exists."
        )
    if closure.doubt > 0:
        return _undecided("a bracket outside the span of the others", closure.doubt)
    if n > d and metric.spread > ZERO:
        return _undecided("the change of M = JJᵀ where w does not change", metric.spread)
    if n > d and metric.drift > ZERO:
        return "undecided", (
            f"The orbit of θ₀ has dimension {reach} > {d}, and on it M = JJᵀ is a function of w up to a "
            f"factor that is none (relative change {metric.drift:.1e}): a clock that depends on more than w "
            "could still make a mirror flow of it, which is not decided here."
        )
    return _judge_metric(closure, metric, d)


def _judge_metric(closure: Closure, metric: Metric, d: int) -> Verdict:
    """For a metric that is a function of w."""
    where = _where(closure, d)
    if metric.violation <= ZERO:
        if closure.commutator <= ZERO:
            return "mirror", (
                f"The gradient fields commute (largest bracket {closure.commutator:.1e} of its terms), and "
                "J has full rank: gradient flow is a mirror flow, ∇Q(w)' = −∇L(w) (Li et al. 2022)."
            )
        return "mirror", (
            f"{where}, and its metric H = (JJᵀ)⁻¹ satisfies ∂_kH_ij = ∂_jH_ik (relative violation "
            f"{metric.violation:.1e}): H is the Hessian of a function Q, and gradient flow its mirror flow."
        )
    if metric.violation < CLEAR:
        return _undecided("∂_kH_ij − ∂_jH_ik of the metric", metric.violation)
    failed = f"{where}, and its metric H is no Hessian (∂_kH_ij − ∂_jH_ik: {metric.violation:.1e})"
    if metric.residual >= CLEAR:
        return "none", (
            f"{failed}; no v solves ∂_kH_ij − ∂_jH_ik + v_kH_ij − v_jH_ik = 0 (relative residual "
            f"{metric.residual:.1e}), so that gH is a Hessian for no g > 0 either."
        )
    if metric.residual > ZERO:
        return _undecided("the residual of the warp field v", metric.residual)
    if metric.curl >= CLEAR:
        return "none", (
            f"{failed}; the one v that could be ∇log g has a curl (relative size {metric.curl:.1e}), so that "
            "gH is a Hessian for no g > 0 either."
        )
    if metric.curl > ZERO:
        return _undecided("the curl of the warp field v", metric.curl)
    return "warped", (
        f"{failed}, but v = ∇log g solves ∂_kH_ij − ∂_jH_ik + v_kH_ij − v_jH_ik = 0 (relative residual "
        f"{metric.residual:.1e}) and has no curl ({metric.curl:.1e}): gH is the Hessian of a function Q, "
        "whose mirror flow this is in the clock dτ = g dt."
    )


def _where(closure: Closure, d: int) -> str:
    if closure.dimension == d:
        return f"The orbit of θ₀ is a leaf of dimension {d}, on which w is a coordinate"
    return f"The orbit of θ₀ has dimension {closure.dimension} > {d}, but M = JJᵀ is a function of w on it"


def _undecided(what: str, size: float) -> Verdict:
    return "undecided", (
        f"Undecided at this tolerance: {what} has relative size {size:.1e}, {_BAND}. Another start, a larger "
        "radius or a better scaled θ decides."
    )
