"""The verdict that the measured numbers imply, and its reason as a sentence."""

from __future__ import annotations

from tacit.derivation.closure import CLEAR, ZERO, Closure
from tacit.derivation.metric import Metric

Verdict = tuple[str, str]
_NOISE = 10.0  # sizes must exceed this multiple of their change with the last bits of θ to count as nonzero
_WARP_EQUATION = "∂_kH_ij − ∂_jH_ik + v_kH_ij − v_jH_ik = 0"


def judge_span(closure: Closure, d: int) -> Verdict | None:
    """The verdict that follows from ranks alone; None if the metric must decide."""
    rank, possible = closure.rank[1], closure.possible_rank
    if rank == 0:
        return "undecided", (
            "θ₀ is a critical point of every Fᵢ, so that no gradient flow leaves it. Choose another start."
        )
    if rank < d and possible[1] > rank:
        return "undecided", (
            f"The Jacobian is ill-conditioned along the orbit of θ₀: its rank is {rank} or {possible[1]}, "
            f"because singular values lie between 1e-12 and {CLEAR:.0e} of the largest. Choose better "
            "scaled coordinates of w, or another start."
        )
    if rank < d:
        return "none", (
            f"The Jacobian has rank {rank} < {d} along the orbit of θ₀, so that w moves on a surface of "
            f"dimension {rank} and M = JJᵀ is singular: no function has M⁻¹ as its Hessian. The surface is "
            "curved, since its tangent spaces together span more dimensions, so no linear coordinates on it "
            "have a potential either."
        )
    if possible[0] < d:
        return "undecided", (
            f"The Jacobian has rank {possible[0]} at θ₀ but {d} on its orbit: M = JJᵀ is singular at θ₀ "
            "itself, and w is not a coordinate there. Choose a start a little further along the flow."
        )
    return None


def judge(closure: Closure, metric: Metric, d: int) -> Verdict:
    """The verdict for a Jacobian of full rank, and its reason."""
    n = closure.dimension
    reach = f"{'' if closure.closed else 'at least '}{n}"
    if n > d and metric.spread >= CLEAR:
        return "none", (
            f"The Lie algebra of the gradient fields has dimension {reach} > {d} along the orbit of θ₀, and "
            f"M = JJᵀ changes, by more than a factor (relative size {metric.spread:.1e}), in directions of "
            "the orbit in which w does not: in no clock is w' a function of w, so no potential exists."
        )
    if closure.borderline > 0:
        return _undecided("a bracket outside the span of the others", closure.borderline)
    if n > d and metric.spread > ZERO:
        return _undecided("the change of M = JJᵀ where w does not change", metric.spread)
    if n > d and metric.drift > ZERO:
        return "undecided", (
            f"The orbit of θ₀ has dimension {reach} > {d}, and on it M = JJᵀ is a function of w times a "
            f"factor that is not (relative change {metric.drift:.1e}): the flow could still be a mirror flow "
            "in a clock that depends on more than w, which is not decided here."
        )
    return _judge_metric(closure, metric, d)


def judge_unmeasured(closure: Closure, d: int, needed: float) -> Verdict:
    """The verdict if the tensors of the metric do not fit in memory: only commuting fields can decide."""
    if closure.dimension == d and closure.borderline == 0 and closure.commutator <= ZERO:
        return "mirror", _commuting(closure)
    return "undecided", (
        f"The gradient fields do not commute (largest bracket {closure.commutator:.1e} of its terms; they "
        f"reach {closure.dimension} dimensions), and the Hessian test was skipped: the tensors of a metric "
        f"of {d:,} coordinates need {needed / 1e9:.0f} GB. Derive a smaller instance of the same map."
    )


def _commuting(closure: Closure) -> str:
    return (
        f"The gradient fields commute (largest bracket {closure.commutator:.1e} of its terms), and "
        "J has full rank: gradient flow is a mirror flow, ∇Q(w)' = −∇L(w) (Li et al. 2022)."
    )


def _judge_metric(closure: Closure, metric: Metric, d: int) -> Verdict:
    """The verdict for a metric that is a function of w."""
    orbit, clear = _orbit(closure, d), max(CLEAR, _NOISE * metric.noise)
    if metric.violation <= ZERO:
        if closure.commutator <= ZERO:
            return "mirror", _commuting(closure)
        if closure.dimension == d:  # then brackets and violation are both 0, or neither is
            return _undecided("the largest bracket of two gradient fields", closure.commutator)
        return "mirror", (
            f"{orbit}, and the metric H = (JJᵀ)⁻¹ satisfies ∂_kH_ij = ∂_jH_ik (relative violation "
            f"{metric.violation:.1e}): H is the Hessian of a function Q, and gradient flow its mirror flow."
        )
    if metric.violation < clear:
        return _undecided("∂_kH_ij − ∂_jH_ik of the metric", metric.violation)
    failed = f"{orbit}, and the metric H is not a Hessian (∂_kH_ij − ∂_jH_ik: {metric.violation:.1e})"
    if metric.residual >= clear:
        return "none", (
            f"{failed}; no v solves {_WARP_EQUATION} (relative residual {metric.residual:.1e}), so that gH "
            "is not a Hessian for any g > 0."
        )
    if metric.residual > ZERO:
        return _undecided("the residual of the warp field v", metric.residual)
    if metric.curl >= clear:
        return "none", (
            f"{failed}; the only v that could be ∇log g has a curl (relative size {metric.curl:.1e}), so "
            "that gH is not a Hessian for any g > 0."
        )
    if metric.curl > ZERO:
        return _undecided("the curl of the warp field v", metric.curl)
    return "warped", (
        f"{failed}, but v = ∇log g solves {_WARP_EQUATION} (relative residual {metric.residual:.1e}) and "
        f"has no curl ({metric.curl:.1e}): gH is the Hessian of a function Q, and gradient flow is its "
        "mirror flow in the clock dτ = g dt."
    )


def _orbit(closure: Closure, d: int) -> str:
    if closure.dimension == d:
        return f"On the orbit of θ₀, of dimension {d}, w is a coordinate"
    return f"The orbit of θ₀ has dimension {closure.dimension} > {d}, but M = JJᵀ is a function of w on it"


def _undecided(what: str, size: float) -> Verdict:
    return "undecided", (
        f"Undecided at this tolerance: {what} has relative size {size:.1e}; below {ZERO:.0e} it would count "
        f"as 0, above {CLEAR:.0e} as nonzero. Choose another start or a better scaled θ."
    )
