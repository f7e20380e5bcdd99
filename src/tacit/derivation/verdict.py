"""What the numbers of a parametrization prove, as a word and a sentence."""

from __future__ import annotations

from tacit.derivation.closure import Closure
from tacit.derivation.metric import Metric
from tacit.derivation.span import CLEAR, ZERO

Verdict = tuple[str, str]
_TRUSTED = 10.0  # times what the last bits of θ change, above which a size is more than round-off
_BAND = f"between {ZERO:.0e}, below which it counts as 0, and {CLEAR:.0e}, above which it does not"


def judge_span(closure: Closure, d: int) -> Verdict | None:
    """What ranks alone decide; None where the metric must tell."""
    best = closure.rank[1]
    if best == 0:
        return "undecided", (
            "θ₀ is a critical point of every Fᵢ, so that no gradient flow leaves it; another start decides."
        )
    if best < d and closure.faint[1] > best:
        return "undecided", (
            f"The Jacobian is ill-conditioned along the orbit of θ₀: its rank is {best} or "
            f"{closure.faint[1]}, by singular values between 1e-12 and {CLEAR:.0e} of the largest. Better "
            "scaled coordinates of w, or another start, decide."
        )
    if best < d:
        return "none", (
            f"The Jacobian has rank {best} < {d} along the orbit of θ₀, so that w moves on a surface of "
            f"dimension {best} and M = JJᵀ is singular: no function has M⁻¹ as its Hessian. The surface is "
            "curved, since its tangent spaces together span more dimensions: no linear coordinates on it "
            "could have a potential instead."
        )
    if closure.faint[0] < d:
        return "undecided", (
            f"The Jacobian has rank {closure.faint[0]} at θ₀ but {d} on its orbit: M = JJᵀ is singular at θ₀ "
            "itself, and w is no coordinate there. A start a little further along the flow decides."
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


def judge_unmeasured(closure: Closure, d: int, needed: float) -> Verdict:
    """Without the metric, whose tensors are too large: commuting fields decide, and nothing else does."""
    if closure.dimension == d and closure.doubt == 0 and closure.commutator <= ZERO:
        return "mirror", _commuting(closure)
    return "undecided", (
        f"The gradient fields do not commute (largest bracket {closure.commutator:.1e} of its terms; they "
        f"reach {closure.dimension} dimensions), and the Hessian test was not made: the tensors of a metric "
        f"of {d:,} coordinates need {needed / 1e9:.0f} GB. A smaller instance of the same map decides."
    )


def _commuting(closure: Closure) -> str:
    return (
        f"The gradient fields commute (largest bracket {closure.commutator:.1e} of its terms), and "
        "J has full rank: gradient flow is a mirror flow, ∇Q(w)' = −∇L(w) (Li et al. 2022)."
    )


def _judge_metric(closure: Closure, metric: Metric, d: int) -> Verdict:
    """For a metric that is a function of w."""
    where, clear = _where(closure, d), max(CLEAR, _TRUSTED * metric.noise)
    if metric.violation <= ZERO:
        if closure.dimension == d and closure.commutator > ZERO:  # on such a leaf both are 0, or neither is
            return _undecided("the largest bracket of two gradient fields", closure.commutator)
        if closure.commutator <= ZERO:
            return "mirror", _commuting(closure)
        return "mirror", (
            f"{where}, and its metric H = (JJᵀ)⁻¹ satisfies ∂_kH_ij = ∂_jH_ik (relative violation "
            f"{metric.violation:.1e}): H is the Hessian of a function Q, and gradient flow its mirror flow."
        )
    if metric.violation < clear:
        return _undecided("∂_kH_ij − ∂_jH_ik of the metric", metric.violation)
    failed = f"{where}, and its metric H is no Hessian (∂_kH_ij − ∂_jH_ik: {metric.violation:.1e})"
    if metric.residual >= clear:
        return "none", (
            f"{failed}; no v solves ∂_kH_ij − ∂_jH_ik + v_kH_ij − v_jH_ik = 0 (relative residual "
            f"{metric.residual:.1e}), so that gH is a Hessian for no g > 0 either."
        )
    if metric.residual > ZERO:
        return _undecided("the residual of the warp field v", metric.residual)
    if metric.curl >= clear:
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
        f"Undecided at this tolerance: {what} has relative size {size:.1e}, {_BAND}. Another start or a "
        "better scaled θ decides."
    )
