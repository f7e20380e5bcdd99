"""Wrong theories: a wrong scale, power, depth, profile, sign, norm, loss, metric, clock or kernel."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from planting import Asked, Fault, Shown, returning, swapped

from tacit.potentials import Bregman, DeepHypentropy


def _depth_three(Q, model, d=None):
    return DeepHypentropy(3, 1.5 * Q.log_scale) if model.depth == 2 else Q


def _without_profile(Q, model, d=None):
    return replace(_unweighted(Q, model), log_scale=model.depth * model._log_alpha)


def _unweighted(Q, model, d=None):
    return replace(Q, weight=1.0) if isinstance(Q, DeepHypentropy) else Q


def _from_the_other_side(Q, model, d=None):
    return Bregman(Q.potential, -Q.origin) if isinstance(Q, Bregman) else Q


def _with_two_thirds(Q, model, d=None):
    return Bregman(Q.potential, Q.potential.mirror(Q.potential.gradient(Q.origin) / 1.5))


def _without_scale(form, model, d):
    return replace(form, log_speed=form.log_speed - (model.depth - 2) * model._log_alpha)


def _first_layer(right):
    return lambda self, weights: next(iter(self.slopes(weights).values())) ** 2


def _at_twice_the_scale(Q):
    object.__setattr__(Q, "potential", Q.potential.shifted(math.log(2)) or Q.potential)


_DIAGONAL = (  # figures of limits and of flows of diagonal networks
    *(Shown(f"woodworth2020/{name}") for name in ("fig1a", "fig1b", "fig1c", "fig3c")),
    *(Shown(f"moroshko2020/{name}") for name in ("fig3a", "fig5a", "fig5b", "fig7", "fig9")),
)

THEORIES = (
    Fault(
        "scale",
        "The predictor's scale is 7.4 times as large.",
        "tacit.models.diagonal:Diagonal.potential",
        returning(lambda Q, *_: Q.shifted(2.0)),
        check=(Asked("woodworth2020/theorem1", "depth 2"),),
        figures=_DIAGONAL,
        tests=("models/test_models.py",),
    ),
    Fault(
        "power",
        "The predictor's scale is α at depth 2, not α².",
        "tacit.models.diagonal:Diagonal.potential",
        returning(lambda Q, *_: replace(Q, log_scale=Q.log_scale / 2)),
        check=(Asked("woodworth2020/theorem1", "depth 2"),),
        figures=_DIAGONAL,
        tests=("models/test_models.py",),
    ),
    Fault(
        "depth",
        "At depth 2 the potential is that of depth 3.",
        "tacit.models.diagonal:Diagonal.potential",
        returning(_depth_three),
        check=(Asked("woodworth2020/theorem1", "depth 2"),),
        figures=_DIAGONAL,
        tests=("models/test_models.py",),
    ),
    Fault(
        "deep-power",
        "The power of a deep potential is D/(D−1), not D/(D−2).",
        "tacit.potentials.rapidity:power_of_depth",
        lambda right: lambda depth: math.inf if depth == 2 else depth / (depth - 1),
        check=(Asked("woodworth2020/theorem3", "depth 3"),),
        figures=(Shown("woodworth2020/fig3b"),),
        tests=("potentials/test_potentials.py",),
    ),
    Fault(
        "profile",
        "The potential ignores the profile.",
        "tacit.models.diagonal:Diagonal.potential",
        returning(_without_profile),
        check=(Asked("woodworth2020/theorem1", "profile, depth 2"),),
        tests=("models/test_models.py",),
        unconcerned={"figures": "No figure has a profile."},
    ),
    Fault(
        "weight",
        "A deep potential ignores that the profile weighs its coordinates.",
        "tacit.models.diagonal:Diagonal.potential",
        returning(_unweighted),
        check=(Asked("woodworth2020/theorem3", "profile, depth 3"),),
        tests=("models/test_models.py",),
        unconcerned={"figures": "No figure has a profile."},
    ),
    Fault(
        "origin",
        "The divergence of a biased start is taken from the opposite of the start.",
        "tacit.models.diagonal:UntiedDiagonal.potential",
        returning(_from_the_other_side),
        check=(Asked("azulay2021/theorem1", "biased"),),
        tests=("test_errata_regression.py::TestAzulay",),
        unconcerned={"figures": "Those of diagonal networks start at 0."},
    ),
    Fault(
        "neuron-origin",
        "The divergence of a neuron is taken from the opposite of the start.",
        "tacit.models.neuron:Neuron.potential",
        returning(_from_the_other_side),
        check=(Asked("azulay2021/theorem2", "neuron"),),
        figures=(Shown("azulay2021/neuron-limits"),),
        tests=("solvers/networks/test_limit_neuron.py::TestLimit",),
    ),
    Fault(
        "neuron-factor",
        "The linear term of a neuron's potential lacks the 3/2, as in the paper's appendix.",
        "tacit.models.neuron:Neuron.potential",
        returning(_with_two_thirds),
        check=(Asked("azulay2021/theorem2", "neuron"),),
        figures=(Shown("azulay2021/neuron-limits"),),
        tests=("potentials/test_potentials_radial.py",),
    ),
    Fault(
        "root-k",
        "√k/2 in place of √k/4.",
        "tacit.models.diagonal:UntiedDiagonal._log_predictor_scale",
        returning(lambda log_scale, *_: log_scale + math.log(2)),
        check=(Asked("azulay2021/theorem1", "untied"),),
        figures=(Shown("azulay2021/fig7.1"), Shown("azulay2021/regime-map")),
        tests=("models/test_models.py",),
    ),
    Fault(
        "shape",
        "The scale of an untied network ignores its shape.",
        "tacit.models.diagonal:UntiedDiagonal._log_predictor_scale",
        returning(lambda log_scale, model: np.log(np.broadcast_to(model.scale, log_scale.shape))),
        check=(Asked("azulay2021/theorem1", "untied"),),
        figures=(Shown("azulay2021/fig7.1"),),
        tests=("models/test_models.py",),
    ),
    Fault(
        "balance",
        "Every neuron counts as balanced: δ = 0.",
        "tacit.models.neuron:Neuron.delta",
        returning(lambda delta, *_: 0.0),
        check=(Asked("azulay2021/theorem2", "neuron"),),
        figures=(Shown("azulay2021/neuron-limits"),),
        tests=("solvers/networks/test_limit_neuron.py::TestLimit",),
    ),
    Fault(
        "warp",
        "The warped clock is training time: the factor (3/2)|a| is missing.",
        "tacit.warping:warp",
        returning(lambda g, *_: np.ones_like(g)),
        figures=(Shown("azulay2021/warp"),),
        tests=("test_warping.py",),
        unconcerned={"check": "Lemma 3 writes the factor out for itself."},
    ),
    Fault(
        "metric",
        "The metric of elementwise networks, of which their kernel is made, has the first layer only.",
        "tacit.models.parametrizations:Elementwise.metric",
        _first_layer,
        check=(Asked("moroshko2020/theorem1", "classes, depth 2"),),
        figures=(Shown("moroshko2020/fig9"),),
        tests=("models/test_models.py",),
    ),
    Fault(
        "kernel",
        "The tangent kernel of a network lacks a layer.",
        "tacit.models.parametrizations:Layers.kernel",
        swapped(" + np.kron(X @ X.T, V @ V.T)", ""),
        tests=("models/test_models_connected.py",),
        unconcerned={
            "check": "No theorem asks for the kernel of a linear network.",
            "figures": "No figure shows the kernel of a linear network.",
        },
    ),
    Fault(
        "clock",
        "Time of a diagonal network runs half as fast.",
        "tacit.models.diagonal:Diagonal.mirror_form",
        returning(lambda form, *_: replace(form, log_speed=form.log_speed - math.log(2))),
        check=(Asked("moroshko2020/lemma10", "classes, depth 2"),),
        tests=("flows/test_flow_exponential.py",),
        unconcerned={"figures": "Flows of diagonal networks are drawn over their accuracy, not over time."},
    ),
    Fault(
        "deep-clock",
        "Time of a deep network lacks the α^(D−2).",
        "tacit.models.diagonal:Diagonal.mirror_form",
        returning(_without_scale),
        check=(Asked("moroshko2020/lemma12", "classes, depth 3"),),
        tests=("flows/test_flow_exponential.py",),
        unconcerned={"figures": "Flows of diagonal networks are drawn over their accuracy, not over time."},
    ),
    Fault(
        "pull",
        "All samples pull alike, whatever their margins, where flows are steered.",
        "tacit.losses:Exponential.log_slope",
        returning(lambda logs, *_: 0 * logs),
        check=(Asked("moroshko2020/lemma10", "classes, depth 2"),),
        figures=(Shown("moroshko2020/fig3b"),),
        tests=("flows/test_flow_exponential.py",),
    ),
    Fault(
        "mean",
        "The accuracy is that of the sum of the losses, not of their mean.",
        "tacit.losses:SeparatingLoss.accuracy",
        returning(lambda accuracy, loss, outputs, y: accuracy - math.log(len(y))),
        check=(Asked("moroshko2020/inequalities", "classes, depth 2"),),
        figures=(Shown("moroshko2020/fig6"),),
        tests=("flows/test_flow_exponential.py",),
    ),
    Fault(
        "rate",
        "The rate that Min et al. guarantee is divided by the number of samples.",
        "tacit.papers.min2021.network:guaranteed_rate",
        returning(lambda rate, model, X: rate / len(X)),
        figures=(Shown("min2021/fig2"),),
        tests=("papers/min2021/test_theorems_min.py",),
        unconcerned={"check": "A rate that is smaller is guaranteed all the more."},
    ),
    Fault(
        "imbalance",
        "The level of imbalance counts twice.",
        "tacit.solvers.networks.bounds:imbalance_level",
        returning(lambda level, *_: 2 * level),
        check=(Asked("min2021/theorem1", "white"),),
        figures=(Shown("min2021/fig2"),),
        tests=("papers/min2021/test_theorems_min.py",),
    ),
    Fault(
        "distance",
        "The explicit regularizer is the implicit one.",
        "tacit.potentials.separable:WeightDistance.power",
        lambda right: math.inf,
        check=(Asked("woodworth2020/explicit", "depth 2"),),
        figures=(Shown("woodworth2020/fig2"),),
        tests=("potentials/test_potentials.py",),
    ),
    Fault(
        "spectrum",
        "μ² = α²k, not 2μ² = α²k: potentials of spectra have twice the scale.",
        "tacit.potentials.spectral:Spectral.__post_init__",
        lambda right: _at_twice_the_scale,
        check=(Asked("woodworth2020/theorem4", "commuting"),),
        figures=(Shown("woodworth2020/theorem4"),),
        tests=("solvers/matrices/test_factorization.py",),
    ),
    Fault(
        "quasi-norm",
        "Deep networks end at margins of the ℓ_{1/D} quasi-norm, not of ℓ_{2/D}.",
        "tacit.solvers.margins.quasi_norm:all_stationary",
        lambda right: lambda margins, p: right(margins, p / 2),
        figures=(Shown("moroshko2020/fig4b"),),
        tests=("solvers/margins/test_max_margin.py",),
        unconcerned={"check": "Theorem 7 asks whether the ℓ1 margin is stationary, whatever the others are."},
    ),
    Fault(
        "mu",
        "The path of Q_μ margins has 2μ in place of μ.",
        "tacit.verbs.margin_path:geometry_of",
        returning(lambda geometry, *_: geometry.shifted(math.log(2))),
        check=(Asked("moroshko2020/theorem6", "two samples, depth 2"),),
        figures=(Shown("moroshko2020/fig3b"),),
        tests=("verbs/test_margin_paths.py",),
    ),
)
