"""tacit fit: fit a linear model; scale and stopping time are chosen by cross-validation.

Fit a linear model by the gradient flow of a diagonal network. Large initial weights and early
stopping give models similar to ridge regression, small initial weights give sparse models.
Cross-validation chooses between them unless --scale is given. Needs scikit-learn:
pip install 'scikit-learn>=1.7'.

examples:
  tacit fit spectra.csv --target octane
  tacit fit spectra.csv --target octane --cv 10 --save model.json --plot path.png
  tacit fit genes.csv --target tumour --classify --standardize --save model.json
  tacit fit genes.csv --target tumour --classify --stops 0.9,0.5,0.1,limit
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
    add_data,
    add_flag,
    add_option,
    add_outputs,
    check_output_files,
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


def add(command: Any) -> None:
    """Add the options of the command."""
    add_data(command)
    add_flag(command, "--classify", "the target contains classes (text or whole numbers)")
    _add_knobs(command)
    add_flag(command, "--no-intercept", "f(x) = w·x, without the unpenalized intercept that is the default")
    add_flag(command, "--standardize", "divide features by their standard deviation")
    add_option(command, "--save FILE", "write the model as JSON for 'tacit predict'")
    plot = "draw the coefficients against the scale, and mark the selected one"
    add_outputs(command, "model and scores", plot)


def _add_knobs(command: Any) -> None:
    """Add the hyperparameters."""
    folds = f"folds (default: {_FOLDS}, or as many as there are samples, or samples of the smallest class)"
    add_option(command, "--cv K", folds, whole_number(2))
    rule = (
        "how a candidate is selected; best: the best score; smoothed: the best score after averaging "
        "with neighbours; cautious: smoothed, but the kernel end unless another scale is better at 90%% "
        "confidence; one-standard-error: the earliest stop within one standard error (default: cautious; "
        "best with --classify)"
    )
    add_option(command, "--rule", rule, choices=("cautious", "smoothed", "best", "one-standard-error"))
    scale = "scale of the initial weights, relative to the data; no cross-validation"
    add_option(command, "--scale", scale, float)
    loss = "with --classify; margin: maximum margins and flows of the exponential loss; square: fit labels "
    loss += "as the numbers -1 and 1 (default: cross-validation tries both; margin with --scale)"
    add_option(command, "--loss", loss, choices=("margin", "square"))
    command.add_argument("--depth", type=float, default=2.0, help="depth of the network (default: 2)")
    stop = "with --scale: stop when the training loss has decreased to this share"
    add_option(command, "--stop", stop, float)
    stops = "stops that cross-validation tries: their number, or shares of the training loss with commas "
    stops += "between them; 'limit' is the end of training (default: 25 and limit; 6 and, if the classes are "
    stops += "separable, limit with --classify)"
    add_option(command, "--stops", stops, _stops)


def _stops(text: str) -> Any:
    """The type of --stops: a number of stops, or shares and None for the limit."""
    if text.isdecimal() and int(text) > 0:
        return int(text)
    try:
        found = [None if part.strip() == "limit" else float(part) for part in text.split(",")]
    except ValueError:
        found = [0.0]
    if not all(share is None or 0 < share < 1 for share in found):
        raise argparse.ArgumentTypeError(
            f"must be a number of stops, or shares between 0 and 1 with commas between them, got {text!r}"
        )
    return found


def run(options: argparse.Namespace) -> int:
    import pandas as pd

    from tacit.show.fits import fit_report
    from tacit.show.output_files import Output, write_json

    if options.stop is not None and options.scale is None:
        raise InputError("--stop needs --scale; without --scale both are chosen by cross-validation")
    if options.stops is not None and options.scale is not None:
        raise InputError("--stops is for cross-validation; with --scale use --stop")
    if options.loss is not None and not options.classify:
        raise InputError("--loss needs --classify; regression uses the square loss")
    importlib.import_module("tacit.estimators")  # raises at once if scikit-learn is not installed
    table = read_data(options, many=options.classify)
    targets = _targets(table, options.classify)
    folds = _possible_folds(options, targets) if options.scale is None else 0
    check_output_files(options, [] if options.save is None else [Output(options.save, "json", _SAVED)])
    named = pd.DataFrame(table.X, columns=list(table.features))
    estimator, unconverged = _fitted(_estimator(options, folds), named, targets)
    for warning in unconverged:
        remark(warning)
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
    return FAILED if unconverged else DONE


def _possible_folds(options: argparse.Namespace, targets: Any) -> int:
    """The number of folds; every fold must contain samples of every class."""
    import numpy as np

    most, of_what = len(targets), "number of samples"
    if options.classify:
        classes, counts = np.unique(targets, return_counts=True)
        smallest = int(counts.argmin())
        most, of_what = int(counts[smallest]), f"samples of class {classes.tolist()[smallest]!r}"
    least = options.cv or 2
    if least > most:
        instead = f"give --cv {most} or less" if most > 1 else "give --scale, which needs no cross-validation"
        raise InputError(f"cross-validation with {least} folds is impossible: {of_what}: {most}; {instead}")
    if options.cv is None and most < _FOLDS:
        remark(f"using {most} folds instead of {_FOLDS} ({of_what}: {most})")
    return options.cv or min(_FOLDS, most)


def _fitted(estimator: Any, X: Any, y: Any) -> tuple[Any, list[str]]:
    """Fit the estimator; also return its convergence warnings."""
    from tacit.estimators.fit import ConvergenceWarning

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConvergenceWarning)
        estimator.fit(X, y)
    unconverged = [str(each.message) for each in told if issubclass(each.category, ConvergenceWarning)]
    for each in told:
        if not issubclass(each.category, ConvergenceWarning):
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    return estimator, list(dict.fromkeys(unconverged))


def _estimator(options: argparse.Namespace, folds: int) -> Any:
    from tacit import estimators

    asked = {"depth": options.depth, "standardize": options.standardize}
    asked |= {"fit_intercept": not options.no_intercept}
    if options.loss is not None:
        asked["loss"] = None if options.loss == "margin" else options.loss
    if options.scale is not None:
        single = estimators.FlowClassifier if options.classify else estimators.FlowRegressor
        return single(scale=options.scale, stop=options.stop, **asked)
    searched = estimators.FlowClassifierCV if options.classify else estimators.FlowRegressorCV
    asked |= {name: each for name in ("rule", "stops") if (each := getattr(options, name)) is not None}
    return searched(cv=folds, **asked)


def _targets(table: Table, classify: bool) -> Any:
    """The target as numbers, or as names of classes."""
    import numpy as np

    if not classify:
        return table.y
    if table.classes:
        return np.array(table.classes)[table.y.astype(int)]
    if not np.array_equal(table.y, np.round(table.y)) or np.abs(table.y).max(initial=0) >= 2**53:
        raise InputError("--classify needs a target of text or whole numbers; leave it out for regression")
    return table.y.astype(np.int64)


def _model(options: argparse.Namespace, table: Table, estimator: Any) -> Any:
    import numpy as np

    from tacit.data.linear_model import LinearModel

    names = ("scale", "depth", "stop", "mu", "loss")  # as selected or given
    values = {name: getattr(estimator, f"{name}_", getattr(options, name, None)) for name in names}
    fit = {name: value for name, value in values.items() if value is not None}
    if hasattr(estimator, "best_score_"):
        fit |= {"cross_validation": {"folds": estimator.n_splits_, "score": estimator.best_score_}}
    fit |= {"intercept": not options.no_intercept, "standardize": options.standardize}
    return LinearModel(
        table.features,
        table.target,
        np.atleast_2d(estimator.coef_),
        np.atleast_1d(estimator.intercept_),
        tuple(getattr(estimator, "classes_", np.zeros(0)).tolist()),
        {**fit, "samples": len(table.y), "data": "standard input" if options.data == "-" else options.data},
    )
