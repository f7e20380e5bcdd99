"""Wrong components: one expression of a solver, certificate or measurement is replaced."""

from __future__ import annotations

from planting import Fault, swapped

_STEERS = "It steers the search for what others then verify, or tells rounding from what is none."

PIECES = (
    Fault(
        "certificate",
        "The residual of a certificate is the mean over coordinates, not the largest.",
        "tacit.solvers.kkt:stationarity_at",
        swapped("np.abs(slope - nearest).max()", "np.abs(slope - nearest).mean()"),
        tests=("verbs/test_certify.py",),
        unconcerned={
            "check": "Right limits have a residual of 0 either way.",
            "figures": "Right limits have a residual of 0 either way.",
        },
    ),
    Fault(
        "slope-rate",
        "The slope of the logistic loss falls at the rate 1/(1 + eᵐ).",
        "tacit.losses:Logistic.slope_rate",
        swapped("-xp.logaddexp(-margins", "-xp.logaddexp(margins"),
        tests=("test_losses.py",),
        unconcerned={"check": _STEERS, "figures": _STEERS},
    ),
    Fault(
        "kernel-of-zero",
        "Kernels are compared entry by entry where one of them is 0.",
        "tacit.networks.kernels:distance_between",
        swapped("if not (first.any() and second.any())", "if not (first.all() and second.any())"),
        tests=("networks/test_network.py",),
        unconcerned={
            "check": "No theorem is about the angle between kernels.",
            "figures": "Their kernels have no entry that is 0.",
        },
    ),
    Fault(
        "residual-rounding",
        "The rounding of a residual is bounded without the absolute value of the targets.",
        "tacit.solvers.interpolation.newton:_rounding",
        swapped("(products + np.abs(equations.y))", "(products + equations.y)"),
        tests=("solvers/interpolation/test_limit_rounding.py",),
        unconcerned={"check": _STEERS, "figures": _STEERS},
    ),
    Fault(
        "excess",
        "The ℓ1 excess that Theorem 7 measures is that of the sum, not of absolute values.",
        "tacit.papers.moroshko2020.theorem4_6_7:_excess",
        swapped("np.abs(_stop(flow)).sum()", "_stop(flow).sum()"),
        tests=("papers/moroshko2020/test_theorems_moroshko.py",),
        unconcerned={
            "check": "A sum is no larger than the norm, and so is within its bound.",
            "figures": "It is a measurement of `check` alone.",
        },
    ),
    Fault(
        "orbit",
        "A derivation asks whether the metric is a function of w where the orbit is smaller than w.",
        "tacit.derivation.judging:judge",
        swapped("n > d and metric.spread >= CLEAR", "n < d and metric.spread >= CLEAR"),
        tests=("derivation/test_judging.py",),
        unconcerned={
            "check": "No theorem derives a potential.",
            "figures": "No figure derives a potential.",
        },
    ),
    Fault(
        "layered-gap",
        "Newton's step for untied layers divides by a share where it has to multiply.",
        "tacit.solvers.families.layered:LayeredProblem.gap",
        swapped("parts * state.gaps", "parts / state.gaps"),
        tests=("solvers/interpolation/test_limit_layered.py",),
        unconcerned={
            "check": "No theorem is about three and more untied layers.",
            "figures": "No figure is about three and more untied layers.",
        },
    ),
    Fault(
        "portrait",
        "The flows that a derivation draws stop at once.",
        "tacit.derivation.illustration:_flow",
        swapped("- _DONE * first", "- 1e9 * _DONE * first"),
        tests=("derivation/test_illustration.py",),
        unconcerned={
            "check": "No theorem derives a potential.",
            "figures": "No figure derives a potential.",
        },
    ),
    Fault(
        "dual-rounding",
        "The rounding of a residual is taken for the difference of its terms, not their sum.",
        "tacit.flows.forms.dual:DualSquare._check_stall",
        swapped("np.abs(w) + np.abs(self.y)", "np.abs(w) - np.abs(self.y)"),
        tests=("flows/test_flow_square.py",),
        unconcerned={"check": _STEERS, "figures": _STEERS},
    ),
    Fault(
        "t-test",
        "The t test of the cautious rule has as many degrees of freedom as folds.",
        "tacit.estimators.cross_validation:_cautious",
        swapped("len(gains) - 1)", "len(gains))"),
        tests=("estimators/test_regressor_cv.py",),
        unconcerned={
            "check": "Estimators are asked no theorem.",
            "figures": "No figure chooses by cross-validation.",
        },
    ),
)
