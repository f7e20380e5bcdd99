"""Wrong theories of training in practice: steps, momentum, batches, noise, decay, tiny scales and risks."""

from __future__ import annotations

import math

from planting import Asked, Fault, Shown, returning, swapped

_MOMENTUM = "The theorem is asked without momentum."
_ONE_NUMBER = "The theorem needs a signal and a noise, which no case has."

PRACTICE = (
    Fault(
        "delay",
        "A step lowers the effective scale as one of twice its size does.",
        "tacit.training.settings:Training.delay",
        returning(lambda delay, *_: 2 * delay),
        check=(Asked("practice/second-order", "depth 2"), Asked("practice/second-order", "depth 3")),
        figures=(Shown("practice/step-size"), Shown("practice/momentum")),
        tests=("training/test_predictions.py",),
    ),
    Fault(
        "momentum",
        "Momentum acts by γ/(1 − β)², as is often assumed.",
        "tacit.training.settings:Training.delay",
        returning(
            lambda delay, training: (
                training.step / (1 - training.momentum) ** 2 if training.momentum else delay
            )
        ),
        figures=(Shown("practice/momentum"),),
        tests=("training/test_predictions.py", "papers/practice/test_theorems_training.py"),
        unconcerned={"check": _MOMENTUM},
    ),
    Fault(
        "batch-noise",
        "The noise of batches counts twice.",
        "tacit.training.settings:Training.noise_delay",
        returning(lambda delay, *_: 2 * delay),
        figures=(Shown("practice/batches"),),
        tests=("training/test_predictions.py",),
        unconcerned={"check": "The theorems are about full batches."},
    ),
    Fault(
        "label-noise",
        "Label noise lowers the scale of all features alike.",
        "tacit.training.prediction:_label_noise",
        returning(lambda change, *_: 0 * change + change.mean()),
        figures=(Shown("practice/label-noise"),),
        tests=("training/test_predictions.py",),
        unconcerned={"check": "No theorem is about label noise: its runs are random and take long."},
    ),
    Fault(
        "effective-start",
        "The sum along the run multiplies w₋ as it does w₊.",
        "tacit.training.descent:Descent.effective",
        swapped("plus * np.exp(S), minus * np.exp(-S)", "plus * np.exp(S), minus * np.exp(S)"),
        check=(Asked("practice/effective-start", "depth 2"),),
        figures=(Shown("practice/step-size"), Shown("practice/edge")),
        tests=("training/test_runs.py",),
    ),
    Fault(
        "decay-clock",
        "Weight decay lowers the scale of the predictor as it does the weights, e^{−λt}.",
        "tacit.verbs.decay_path:_decaying",
        returning(lambda found, *_: (found[0], 1.0)),
        check=(Asked("practice/slow-decay", "depth 2"), Asked("practice/slow-decay", "depth 3")),
        figures=(Shown("practice/grokking"),),
        tests=("verbs/test_decay_path.py",),
    ),
    Fault(
        "saddle-clock",
        "The clock of the saddle path takes half of the time.",
        "tacit.results.saddle_path:clock",
        returning(lambda time, *_: time / 2),
        figures=(Shown("practice/saddles"),),
        tests=("verbs/test_saddle_path.py",),
        unconcerned={"check": "The theorems speak of τ, the time of the path."},
    ),
    Fault(
        "lasso-certificate",
        "The average of the saddle path counts as a Lasso solution whatever its slopes.",
        "tacit.results.saddle_path:PathAverage.holds",
        returning(lambda *_: True),
        check=(Asked("practice/early-stopping", "a feature leaves"),),
        figures=(Shown("practice/early-stopping"),),
        tests=("verbs/test_saddle_path.py",),
    ),
    Fault(
        "audited-scale",
        "The scale that the flow conserves is the mean of w₊ and w₋.",
        "tacit.verbs.audit:audit",
        swapped("np.sqrt(plus) * np.sqrt(minus)", "(plus + minus) / 2"),
        figures=(Shown("practice/adam"),),
        tests=("training/test_audit.py",),
        unconcerned={"check": "No theorem is about the weights of other optimizers."},
    ),
    Fault(
        "margin-scale",
        "The path of Q_μ margins has 30μ in place of μ.",
        "tacit.verbs.margin_path:geometry_of",
        returning(lambda geometry, *_: geometry.shifted(math.log(30))),
        check=(Asked("moroshko2020/theorem6", "two samples, depth 2"),),
        figures=(Shown("practice/normalized"),),
        tests=("verbs/test_margin_paths.py",),
    ),
    Fault(
        "state-evolution",
        "The noise in the state evolution leaves out the risk.",
        "tacit.verbs.risk:_StateEvolution.solved",
        swapped("(self.noise**2 + found)", "(self.noise**2 + found / 2)"),
        figures=(Shown("practice/risk"),),
        tests=("verbs/test_risk.py",),
        unconcerned={"check": _ONE_NUMBER},
    ),
)
