"""tacit predict: predict with a model saved by 'tacit fit'.

Predict with a model that 'tacit fit --save' has written. Columns are matched by name, in any
order; columns that the model does not use are reported. If the target is among them, the error
on these samples is reported, too.

If the name of the target or of a class begins with = + - @, a tab or another control character,
the CSV file has a ' before it, because a spreadsheet would evaluate the name as a formula.
Programs that read the CSV file see the '; Tacit does not remove it. Numbers, and names in JSON,
are written unchanged.

examples:
  tacit predict model.json new.csv
  tacit predict model.json new.parquet --out predictions.csv
  tacit predict model.json held-out.csv --json -
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from typing import TYPE_CHECKING, Any

from tacit.cli.options import (
    DONE,
    add_columns,
    add_option,
    check_output_files,
    selection_of,
    told_assumptions,
)
from tacit.cli.terminal import remark
from tacit.data.printable import is_seen, printable, some

if TYPE_CHECKING:
    from tacit.data.linear_model import LinearModel, NewSamples

_SHOWN = 8  # names of columns in a message
_FORMULAS = tuple("=+-@＝＋－＠")  # spreadsheets evaluate text that begins with these
_SEPARATORS = set(";\t|")  # of cells in locales with a decimal comma
_LOST = 1e100  # errors above this multiple of the spread: R² is not reported


def add(command: Any) -> None:
    """Add the options of the command."""
    command.add_argument("model", metavar="MODEL", help="JSON file written by 'tacit fit --save'")
    command.add_argument(
        "data", metavar="NEW", help="samples, in any format that 'tacit fit' reads (-: standard input)"
    )
    add_columns(command)
    add_option(command, "--out FILE", "write the predictions as CSV (default: standard output)")
    add_option(command, "--json FILE", "write the predictions as JSON (-: standard output)")
    command.set_defaults(plot=None)


def run(options: argparse.Namespace) -> int:
    from tacit.data.linear_model import read_model, read_new_samples
    from tacit.show.output_files import Output, write_file, write_json

    model = read_model(options.model)
    table = [] if options.out is None else [Output(options.out, "csv", "predict")]
    check_output_files(options, table)
    new = read_new_samples(options.data, model.features, model.target, selection_of(options))
    _tell(options, new, len(model.features))
    predictions = model.predict(new.X)
    score = _score(model, new, predictions)
    if options.json is not None:
        content = {"model": options.model, "data": options.data, "target": model.target, "score": score}
        named = {"samples": new.samples} if new.samples else {}
        content |= {**named, "predictions": predictions, "unused": new.unused}
        write_json(content, options.json, "predict")
    columns = [[options.index, *new.samples]] if new.samples else []
    rows = zip(*columns, [model.target, *predictions], strict=True)
    text = "".join(f"{','.join(map(_cell, row))}\n" for row in rows)
    if not table and sys.stdout.isatty():
        text = printable(text, keep="\n")
    if table:
        write_file(text.encode(), *table)
    elif options.json is None:
        print(text, end="")
    if score:
        told = ", ".join(f"{name} {value:.4g}" for name, value in score.items())
        remark(f"on these {len(predictions):,} samples: {told}")
    return DONE


def _tell(options: argparse.Namespace, new: NewSamples, features: int) -> None:
    """Report assumptions about the file, and columns that are not used."""
    where = told_assumptions(options, new.assumed)
    if options.data.lower().endswith(".npz"):
        remark(f"assumed about {where}: the columns of X are the features of the model, in the same order")
    if new.unused:
        names = some([repr(name) for name in new.unused], _SHOWN)
        remark(f"the model does not use these columns of {where}: {names}")


def _cell(value: Any) -> str:
    """A cell that no spreadsheet evaluates: text that looks like a formula gets a ' in front."""
    from tacit.data.arrays import is_number

    if not isinstance(value, str):
        return str(value)
    text = io.StringIO()
    shown = f"'{value}" if _is_formula(value) and not is_number(value) else value
    plain = _SEPARATORS.isdisjoint(value)
    # The writer quotes line breaks only if its own lines end in one.
    csv.writer(text, quoting=csv.QUOTE_MINIMAL if plain else csv.QUOTE_ALL).writerow([shown])
    return text.getvalue().removesuffix("\r\n")


def _is_formula(value: str) -> bool:
    """Whether a spreadsheet may evaluate the text (some skip blanks, control characters, order marks)."""
    return not is_seen(value[:1] or " ") or value.lstrip().startswith(_FORMULAS)


def _score(model: LinearModel, new: NewSamples, predictions: list[Any]) -> dict[str, float]:
    """The score of the predictions if the file contains the target."""
    import numpy as np

    if new.target is None:
        return {}
    if model.classes:
        truth = np.array([_name(value) for value in new.target.tolist()])
        hits = np.array([str(guess) for guess in predictions]) == truth
        shares = [hits[truth == each].mean() for each in np.unique(truth)]
        return {"accuracy": float(hits.mean()), "balanced accuracy": float(np.mean(shares))}
    try:
        truth_numbers = np.asarray(new.target, dtype=np.float64)
    except (TypeError, ValueError):
        return {}
    if not np.isfinite(truth_numbers).all():
        return {}
    with np.errstate(over="ignore"):  # an error that overflows is reported as ∞
        rmse = _root_mean_square(truth_numbers - np.asarray(predictions))
        center = (truth_numbers / len(truth_numbers)).sum()  # a sum of huge numbers would overflow
        spread = _root_mean_square(truth_numbers - center)
    score = {"RMSE": rmse}
    return {**score, "R²": 1 - (rmse / spread) ** 2} if rmse < _LOST * spread else score


def _root_mean_square(values: Any) -> float:
    """√(mean of squares), without overflow of the squares."""
    import numpy as np

    largest = float(np.abs(values).max())
    if not 0 < largest < np.inf:
        return largest
    return largest * float(np.sqrt(np.mean((values / largest) ** 2)))


def _name(value: Any) -> str:
    """An entry in the format of the model's classes: whole numbers without a decimal point."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)
