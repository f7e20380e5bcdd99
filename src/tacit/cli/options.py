"""Options that several commands share."""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.cli.terminal import remark, waited, wrapped
from tacit.data.printable import printable
from tacit.errors import InputError

if TYPE_CHECKING:
    from tacit.data.tables import Table
    from tacit.show.output_files import Output

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
_MOST_NUMBERS = 100_000


def add_command(commands: Any, name: str, run: Callable[..., int], text: str | None) -> Any:
    """A command whose help is the docstring of its module: what it does, how, and from "examples:" on how to.

    Python -OO leaves out docstrings, and with them these texts.
    """
    first, _, rest = (text or "").partition("\n\n")
    description, _, examples = rest.partition("examples:\n")
    command = commands.add_parser(
        name,
        help=first.removeprefix(f"tacit {name}: ").rstrip("."),
        description=description.strip(),
        epilog=f"examples:\n{examples.rstrip()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.set_defaults(run=run, command=command, by=name)
    return command


def whole_number(least: int) -> Callable[[str], int]:
    """Whole numbers from the least on, as the type of an option."""

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be a whole number, {least} or more, got {text!r}")
        return int(text)

    return number


def numbers(text: str) -> list[float]:
    """FROM:TO:COUNT, geometrically spaced, or numbers with commas between them."""
    try:
        if ":" not in text:
            return [float(part) for part in text.split(",")]
        start, end, many = text.split(":")
        first, last, count = float(start), float(end), int(many)
        good = 0 < first < math.inf and 0 < last < math.inf and count > 0
    except ValueError:
        good = False
    if not good:
        raise argparse.ArgumentTypeError(
            f"must be FROM:TO:COUNT with positive ends, or numbers with commas, got {text!r}"
        )
    if count > _MOST_NUMBERS:
        raise argparse.ArgumentTypeError(
            f"asks for {count:,} values; at most {_MOST_NUMBERS:,} are computed at once"
        )
    import numpy as np

    return [float(number) for number in np.geomspace(first, last, count)]


def add_data(command: Any) -> None:
    """DATA and --target."""
    command.add_argument(
        "data",
        metavar="DATA",
        help="CSV, TSV or other text with a line of names (also .gz, .bz2, .xz; - for standard input), "
        "Parquet, Excel (.xlsx), or NPZ with arrays X and y",
    )
    command.add_argument("--target", metavar="COL", help="the column to predict (all others are features)")


def add_units(command: Any, intercept: str, standardize: str = "") -> None:
    """--intercept and --standardize; the texts say what they mean here."""
    command.add_argument("--intercept", action="store_true", help=intercept)
    command.add_argument(
        "--standardize",
        action="store_true",
        help=standardize
        or "start the weights of features divided by their standard deviation; the result is for your units",
    )


def add_seed(command: Any, what: str) -> None:
    """--seed, 0 if it is not given."""
    help = f"{what} (default: %(default)s)"
    command.add_argument("--seed", type=whole_number(0), default=0, help=help)


def add_outputs(command: Any, json: str, plot: str) -> None:
    """--json and --plot; the texts say what is written and drawn."""
    command.add_argument("--json", metavar="FILE", help=f"write {json} as JSON; - for standard output")
    command.add_argument("--plot", metavar="FILE", help=plot)


def read_data(options: argparse.Namespace, classes: bool = False, many: bool = False) -> Table:
    """The table that DATA and --target name; what had to be assumed to read it is told."""
    from tacit.data.tables import read_table

    begun = time.perf_counter()
    table = read_table(options.data, options.target, classes=classes, many=many)
    options.reading = time.perf_counter() - begun
    if table.assumed:
        where = "standard input" if options.data == "-" else options.data
        remark(f"assumed of {where}: {'; '.join(table.assumed)}")
    return table


def inputs_of(options: argparse.Namespace, X: Any) -> Any:
    """The features as --intercept and --standardize make them: starts that depend on data are for these."""
    from tacit.data.prepared import Design

    return Design(X, options.intercept, options.standardize).features


def source(options: argparse.Namespace, table: Table) -> dict[str, Any]:
    """Where the numbers of a result come from, for JSON."""
    return {"data": options.data, "target": table.target, "assumed": table.assumed}


def claim_outputs(options: argparse.Namespace, others: Sequence[Output] = ()) -> None:
    """Everything that could keep the results from being written, said before they are computed."""
    from tacit.show.output_files import claim_all

    for path in (options.json, options.plot, *(output.path for output in others)):
        if path and os.path.exists(path) and _same_file(path, options.data):
            raise InputError(f"{path} is the data itself; write the result elsewhere")
    claim_all([*json_and_plot(options), *others])


def _same_file(path: str | Path, data: str) -> bool:
    return data != "-" and os.path.samefile(path, data)


def deliver(
    options: argparse.Namespace,
    summary: str,
    content: Callable[[], dict[str, Any]],
    draw: Callable[[str], Any],
    saved: dict[str, Callable[[], str]] | None = None,
    width: int = 11,
) -> None:
    """Tell, write and draw a result as --json and --plot ask; with --json - nothing is told.

    saved: what else is written, by its name in the text, and functions that write it and return what is told
    of it. width: of the names in the summary, with which those of files are aligned.
    """
    from tacit.show.output_files import write_json

    told = options.json != "-"
    if told:
        print(wrapped(summary))
    if options.json is not None:
        write_json(content(), options.json, options.by)
    files = {name: save() for name, save in (saved or {}).items()}
    if options.plot is not None:
        files["figure"] = str(draw(options.plot))
    if told:
        for name, file in files.items():
            print(printable(f"  {name:<{width}}  {file}"))  # not folded: people copy paths
        print(wrapped(f"  {'waited':<{width}}  {waited(options)}"))


def json_and_plot(options: argparse.Namespace) -> list[Output]:
    """The files that --json and --plot name, if any."""
    from tacit.show.figures import figure_kind
    from tacit.show.output_files import Output

    found = [] if options.json in (None, "-") else [Output(options.json, "json", options.by)]
    if options.plot is not None:
        found.append(Output(options.plot, figure_kind(options.plot), options.by))
    return found
