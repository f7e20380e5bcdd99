r"""Theorems 1 to 4 and Proposition 1 of Azulay et al. 2021: predicted limits compared with simulated flows.

Each states that gradient flow on the square loss ends at the minimizer of a potential if it fits the data.
The relative distance between the two is measured (`agreement`). Theorem 3 is complemented by the exact
distance.

Errata
------
### Theorem 1 / 4.1 with a biased start (Appendix A / B)
- **Printed.** For any initialization the limit minimizes Q_k, with
  k = (δ₊ − δ₋)² + 4c² and q_k′(0) = 0.
- **Holds.** It minimizes the Bregman divergence D_{Q_k}(w, w(0)), that is
  w = (√k/2)·sinh(2Xᵀν + arcsinh(2w(0)/√k)). For w(0) = 0, the case of the theorem, the two agree.
- **Why.** The flow keeps ∇Q(w(t)) − ∇Q(w(0)) in the row space of X. Stationarity ∇Q(w) = Xᵀν needs
  ∇Q(w(0)) = 0; the proof requires it and then integrates from q′(0) = 0, which is a different condition if
  w(0) ≠ 0.
- **Evidence.** Gaussian weights of mixed signs, 5 samples, 12 features, three seeds: simulated weights
  end 2.0, 2.1 and 3.7 times its norm away from the minimizer of Q_k, and within 2e-12 of the Bregman
  projection.
- **Test.** `test_biased_start_ends_at_the_bregman_projection`

### The same formula at k = 0
- **Printed.** q_k for every k that (δ₊ − δ₋)² + 4c² can take.
- **Holds.** k = 0 is possible without all weights being 0: u₊ = v₊ and u₋ = −v₋ (or u₊ = −v₊ and u₋ =
  v₋). Such a coordinate never changes its sign, and q_k is infinite: there is no potential on the
  whole line.
- **Why.** k = PN with P = (u₊+v₊)² + (u₋−v₋)² and N = (u₊−v₊)² + (u₋+v₋)², and the flow gives
  w = (Pe^{2τ} − Ne^{−2τ})/4. With N = 0 it is positive at all times, with P = 0 negative.
- **Evidence.** `tacit.limit` raises `NoPotentialError` and names the coordinate.
- **Test.** `test_unmoving_coordinate_is_an_error_by_name` in
  [`tests/solvers/interpolation/test_limit_accuracy.py`](../tests/solvers/interpolation/test_limit_accuracy.py)

### After equation 9 / 10: "reduces to" Woodworth et al.
- **Printed.** For u = v, Q_k reduces to the potential of Woodworth et al.
- **Holds.** To half of it: at u = v = α, √k = 4α² and Q_k = ½Q_α.
- **Why.** q_k′(w) = ½ arcsinh(2w/√k) = ½ arcsinh(w/2α²). The predictor u₊v₊ − u₋v₋ starts at half the speed
  of w₊² − w₋² (the tangent metrics are 4α² and 8α²), and ν contains the factor. The minimizers are the
  same.
- **Evidence.** Equal to 30 digits at α = 0.3, w = 2.
- **Test.** `test_tied_weights_give_half_the_potential_of_woodworth`

### Theorem 2 / 6.1: a factor 3/2, and where it holds
Write P = √(x² + δ²/4) − δ/2, which is the squared length of the inner weights.
- **Printed.** The theorem has q̂ and z with 3/2 in z; Appendices B, D and F print q̂′(x) = √P.
- **Holds.** q̂′ = (3/2)√P for the q̂ of the theorem. q̂ = √(P+δ)·(P − δ/2), which has no 0/0 at x = 0:
  q̂(0) = −δ^{3/2}/2.
- **Evidence.** At the end of simulated flows ∇q̂ + z is a combination of the samples to 1e-8; with q̂′ = √P
  and the printed z the residual is 2% to 60%.
- **Beyond the theorem.** It holds for δ < 0 and for a < 0 as long as the output weight a keeps its sign.
  The end is known in closed form: w̃ = p + a·ω⊥ with p the minimum-norm solution, ω⊥ the part of the
  inner weights orthogonal to the samples, and a⁴ − (δ + ‖ω⊥‖²)·a² − ‖p‖² = 0. If a changes sign the
  same formula holds with the other sign: the end minimizes the divergence from −w̃(0), and is that of the
  start with −a(0). At a = 0 the predictor is 0, which occurs at one level of the loss only, so that a changes
  its sign at most once. Leaky neurons obey the same (with the targets of Theorem 4 for the sign at the end),
  and so do starts at a(0) = 0, which leave to the side of Σ y_nσ(ω·x_n).
- **Evidence.** 300 random linear neurons, of which 104 change sign: within 2.1e-10 of stiff flows of the
  raw weights.
- **Tests.** `TestTheorem2` in [`tests/test_errata_connected.py`](../tests/test_errata_connected.py), and
  `TestChangeOfSign` in
  [`tests/solvers/networks/test_limit_neuron.py`](../tests/solvers/networks/test_limit_neuron.py).

### Proposition 1 / 6.2: one factor too many
- **Printed.** The display before (25) has 1/‖w̃‖ twice. **Holds.** Once, as in (25).
- **Test.** `test_proposition_1_has_one_factor`.

### Theorem 3 / 6.3: what must be infinitesimal
- **Stated.** ‖w̃ᵢ(0)‖ = |aᵢ(0)|·‖wᵢ(0)‖ → 0 leads to the solution of least norm.
- **Holds.** ‖wᵢ(0)‖ → 0 leads to it. Exactly, w̃(∞) − p = P⊥W(0)·a(∞): first order in the size of the weights.
- **Evidence.** Output weights of 1e-3, 1e-6 and 1e-9 with inner weights of order 1 end at the same predictor,
  at a distance above 0.3. With both scaled the distance falls with slope 1.00.
- **Tests.** `test_theorem_3_needs_small_inner_weights`,
  `test_theorem_3_has_slope_one_and_an_exact_distance`.

### Theorem 4 / 8.1: the sign of a is not minimized over
- **Stated.** The argmin over a and w of q_δ(aw) subject to a·σ(Xw) = y.
- **Holds.** The same with sgn a = sgn a(0), so that the constraint is X w̃ = σ⁻¹(y) for a > 0 and X w̃ =
  −σ⁻¹(−y) for a < 0.
- **Evidence.** In 6 of 16 problems the other sign has the smaller q; the flow never takes it.
- **Test.** `test_the_sign_of_the_output_weight_is_kept_not_minimized_over`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import check_problem
from tacit.papers import Assumption, Bound, Parts, Setting, theorem
from tacit.papers.agreement import AGREE, compared, ended
from tacit.solvers.networks.bounds import distance_bound


@theorem("azulay2021/theorem1", shell="--model untied")
def theorem1(model: Any, X: Any, y: Any) -> Parts:
    """w̃(∞) = argmin Q_k(w) s.t. Xw = y for an untied diagonal network (the divergence from a biased start).

    Printed: Q_k is minimized from any start; from w̃(0) ≠ 0 it is the divergence D_{Q_k}(w, w̃(0)) instead.

    Theorem 1 (4.1 at ICML), corrected for biased starts.
    """
    yield Setting("the model is UntiedDiagonal", untied := isinstance(model, tacit.UntiedDiagonal))
    if untied:
        yield from compared(model, X, y)


@theorem("azulay2021/theorem2", shell="--model neuron")
def theorem2(model: Any, X: Any, y: Any) -> Parts:
    """w̃(∞) = argmin q_δ(w) s.t. Xw = y for a linear neuron whose output weight keeps its sign.

    Printed: q̂' = √P in Appendices B, D and F, P = √(x²+δ²/4) − δ/2; with the q̂ and z of the theorem it is
    (3/2)√P.

    Theorem 2 (6.1 at ICML), with the factor 3/2 throughout, and for δ < 0.
    """
    yield Setting("the model is a linear Neuron", linear := _neuron(model) and model.slope == 1)
    if linear:
        yield from compared(model, X, y)


@theorem("azulay2021/theorem4", shell="--model neuron --slope 0.5")
def theorem4(model: Any, X: Any, y: Any) -> Parts:
    """w̃(∞) = argmin q_δ(w) s.t. a·σ(Xw/a) = y for a leaky neuron whose output weight keeps its sign.

    Printed: The argmin is also over a; but the flow keeps the sign of a(0), even if the other sign has a
    smaller q.

    Theorem 4 (8.1 at ICML), with the sign of the output weight kept.
    """
    yield Setting("the model is a leaky Neuron", leaky := _neuron(model) and model.slope < 1)
    if leaky:
        yield from compared(model, X, y)


@theorem("azulay2021/proposition1", shell=None)
def proposition1(model: Any, X: Any, y: Any) -> Parts:
    """w̃(∞) = argmin ‖w‖^{3/2} − (3/2)‖w̃(0)‖^{−1/2}w̃(0)·w s.t. Xw = y for a balanced network of one output.

    Printed: The display before (25) has 1/‖w̃‖ twice; it belongs there once, as in (25).

    Proposition 1 (6.2 at ICML): balanced means UᵀU = VᵀV, so that the hidden layer has rank one.
    """
    neuron: Any = model.as_neuron() if isinstance(model, tacit.LinearNetwork) else None
    text = "the model is a LinearNetwork of one output whose hidden layer has rank one"
    yield Setting(text, neuron is not None)
    yield Assumption(f"its layers are balanced (shape {neuron.shape:.2g})", abs(neuron.shape) <= 1e-10)
    yield from compared(model, X, y)


@theorem("azulay2021/theorem3", flows=2, shell="--model linear --width 500")
def theorem3(model: Any, X: Any, y: Any) -> Parts:
    """w̃(∞) is the minimum-norm solution up to P⊥W(0)·a(∞), which vanishes with W(0).

    Printed: |aᵢ(0)|·‖wᵢ(0)‖ → 0 suffices; with small output weights and inner ones of order 1 it does not.

    Theorem 3 (6.3 at ICML) with the hypothesis ‖wᵢ(0)‖ → 0 and the exact distance.

    The bound is that of `tacit.solvers.networks.bounds.distance_bound`; ‖P⊥W(0)‖·‖a(∞)‖ with ‖a(∞)‖² at most
    (−λ + √(λ² + 4‖ŵ‖²))/2, λ the smallest eigenvalue of the imbalance, is a simpler one.
    """
    single = isinstance(model, tacit.LinearNetwork) and model.outputs == 1
    yield Setting("the model is a LinearNetwork of one output", single)
    X, y = check_problem(X, y)
    end = ended(model, X, y)
    yield end.fits
    least = np.linalg.lstsq(X, y, rcond=None)[0]
    size = float(np.linalg.norm(least)) or 1.0
    bound = distance_bound(model.inner, model.outer, X, end.outputs)  # the bound holds at every time
    left = AGREE + float(np.linalg.norm(np.linalg.lstsq(X, end.outputs - y, rcond=None)[0])) / size
    apart = float(np.linalg.norm(end.predictor - least))
    yield Bound("‖w̃(∞) − ŵ‖/‖ŵ‖", apart / size, at_most=bound / size + left)


def _neuron(model: Any) -> bool:
    return isinstance(model, tacit.Neuron)
