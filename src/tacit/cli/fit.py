"""tacit fit: fit a linear model to a table; the scale of the start and the stop are cross-validated.

Fit a linear model by the gradient flow of a diagonal network. Large starts and early
stops make it a relative of ridge regression, small starts make it sparse; which of them predicts
best is found by cross-validation, unless --scale says it. Needs scikit-learn:
pip install 'scikit-learn>=1.7'.

examples:
  tacit fit spectra.csv --target octane
  tacit fit spectra.csv --target octane --cv 10 --save model.json --plot path.png
  tacit fit genes.csv --target tumour --classify --standardize --save model.json
  tacit fit spectra.csv --target octane --scale 1e-3 --stop 0.01
  tacit predict model.json new.csv
"""

from __future__ import annotations

import argparse
import importlib
import warnings
from typing import TYPE_CHECKING, Any

from tacit.cli.options import (
    DONE,
    FAILED,
    add_command,
    add_data,
    add_outputs,
    claim_outputs,
    deliver,
    read_data,
    source,
    whole_number,
)
from tacit.cli.terminal import remark
from tacit.errors import InputError

if TYPE_CHECKING:
    from tacit.data.tables import Table

_FOLDS = 5
_SAVED = "fit --save"  # what `tacit predict` reads


def add(commands: Any) -> Any:
    """The command and its options."""
    command = add_command(commands, "fit", _run, __doc__)
    add_data(command)
    command.add_argument("--classify", action="store_true", help="the target holds classes: words or numbers")
    _add_knobs(command)
    command.add_argument(
        "--no-intercept",
        action="store_true",
        help="f(x) = w·x, without the free constant that is the default",
    )
    command.add_argument(
        "--standardize", action="store_true", help="start the weights of features divided by their deviation"
    )
    command.add_argument("--save", metavar="FILE", help="write the model as JSON, for 'tacit predict'")
    add_outputs(command, "model and scores", "draw coefficients over scales, with the one that was chosen")
    return command


def _add_knobs(command: Any) -> None:
    """What decides which of all linear models it is."""
    command.add_argument(
        "--cv",
        type=whole_number(2),
        metavar="K",
        help=f"folds (default: {_FOLDS}, or as many as there are samples, or samples of the smallest class)",
    )
    command.add_argument(
        "--rule",
        choices=("cautious", "smoothed", "best", "one-standard-error"),
        help="which candidate is taken: that of the best score, after averaging with neighbours or as it is; "
        "cautious: averaged, and a scale below the kernel end only if it is surely better; or the simplest "
        "within one standard error (default: cautious; of classes best)",
    )
    command.add_argument(
        "--scale",
        type=float,
        help="of the weights at the start, in the data's own units; no cross-validation",
    )
    command.add_argument(
        "--loss",
        choices=("margin", "square"),
        help="with --classify: the largest margin and the flows towards it, or labels fitted as the numbers "
        "-1 and 1 (default: cross-validation tries both; with --scale, margin)",
    )
    command.add_argument("--depth", type=float, default=2.0, help="of the network (default: 2)")
    command.add_argument(
        "--stop", type=float, help="with --scale: share of the training loss at which the flow is stopped"
    )


def _run(options: argparse.Namespace) -> int:
    import pandas as pd

    from tacit.show.fits import fit_report
    from tacit.show.output_files import Output, write_json

    if options.stop is not None and options.scale is None:
        raise InputError("--stop goes with --scale; without them both are cross-validated")
    if options.loss is not None and not options.classify:
        raise InputError("--loss goes with --classify; of numbers it is the square loss")
    importlib.import_module("tacit.estimators")  # which says so at once where scikit-learn is not installed
    table = read_data(options, many=options.classify)
    targets = _targets(table, options.classify)
    folds = _possible_folds(options, targets) if options.scale is None else 0
    claim_outputs(options, [] if options.save is None else [Output(options.save, "json", _SAVED)])
    named = pd.DataFrame(table.X, columns=list(table.features))
    estimator, doubts = _fitted(_estimator(options, folds), named, targets)
    for doubt in doubts:
        remark(doubt)
    model = _model(options, table, estimator)

    def save() -> str:
        write_json(model.to_dict(), options.save, _SAVED)
        return f"{options.save} (tacit predict {options.save} NEW)"

    deliver(
        options,
        fit_report(estimator, table),
        lambda: {**source(options, table), **model.to_dict()},
        estimator.plot_path,
        {} if options.save is None else {"model": save},
    )
    return FAILED if doubts else DONE


def _possible_folds(options: argparse.Namespace, targets: Any) -> int:
    """As many as are asked for; every fold must have samples, and of every class."""
    import numpy as np

    most, of_what = len(targets), "there are samples"
    if options.classify:
        classes, counts = np.unique(targets, return_counts=True)
        smallest = int(counts.argmin())
        most, of_what = int(counts[smallest]), f"class {classes.tolist()[smallest]!r} has samples"
    least = options.cv or 2
    if least > most:
        instead = f"give --cv {most} or less" if most > 1 else "give --scale, which needs none"
        raise InputError(f"cross-validation in {least} folds asks for more than {of_what}, {most}; {instead}")
    if options.cv is None and most < _FOLDS:
        remark(f"{most} folds in place of {_FOLDS}, which is more than {of_what}")
    return options.cv or min(_FOLDS, most)


def _fitted(estimator: Any, X: Any, y: Any) -> tuple[Any, list[str]]:
    """The estimator, fitted, and what it says where it did not converge."""
    from tacit.estimators.fit import ConvergenceWarning

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConvergenceWarning)
        estimator.fit(X, y)
    doubts = [str(each.message) for each in told if issubclass(each.category, ConvergenceWarning)]
    for each in told:
        if not issubclass(each.category, ConvergenceWarning):
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    return estimator, list(dict.fromkeys(doubts))


def _estimator(options: argparse.Namespace, folds: int) -> Any:
    from tacit import estimators

    common: dict[str, Any] = {
        "depth": options.depth,
        "fit_intercept": not options.no_intercept,
        "standardize": options.standardize,
    }
    if options.loss is not None:
        common["loss"] = {"margin": None}.get(options.loss, options.loss)
    if options.scale is not None:
        single = estimators.FlowClassifier if options.classify else estimators.FlowRegressor
        return single(scale=options.scale, stop=options.stop, **common)
    searched = estimators.FlowClassifierCV if options.classify else estimators.FlowRegressorCV
    rule = {} if options.rule is None else {"rule": options.rule}
    return searched(cv=folds, **rule, **common)


def _targets(table: Table, classify: bool) -> Any:
    """Numbers, or classes by their names."""
    import numpy as np

    if not classify:
        return table.y
    if table.classes:
        return np.array(table.classes)[table.y.astype(int)]
    if not np.array_equal(table.y, np.round(table.y)) or np.abs(table.y).max(initial=0) >= 2**53:
        raise InputError(
            "--classify takes classes, words or whole numbers; leave it out to fit other numbers"
        )
    return table.y.astype(np.int64)


def _model(options: argparse.Namespace, table: Table, estimator: Any) -> Any:
    import numpy as np

    from tacit.data.linear_model import LinearModel

    found = {name: getattr(estimator, f"{name}_", None) for name in ("scale", "depth", "stop", "mu", "loss")}
    fit = {name: value for name, value in found.items() if value is not None}
    if hasattr(estimator, "best_score_"):
        fit |= {"cross_validation": {"folds": estimator.n_splits_, "score": estimator.best_score_}}
    asked = {"scale": options.scale, "depth": options.depth, "stop": options.stop}
    fit = {**{name: value for name, value in asked.items() if value is not None}, **fit}
    fit |= {"intercept": not options.no_intercept, "standardize": options.standardize}
    return LinearModel(
        table.features,
        table.target,
        np.atleast_2d(estimator.coef_),
        np.atleast_1d(estimator.intercept_),
        tuple(getattr(estimator, "classes_", np.zeros(0)).tolist()),
        {**fit, "samples": len(table.y), "data": "standard input" if options.data == "-" else options.data},
    )
