"""Options shared by several commands."""

from __future__ import annotations

import argparse
import logging
import math
import os
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tacit.cli.advice import advice_on
from tacit.cli.terminal import remark, waited, wrapped
from tacit.data.printable import printable
from tacit.errors import InputError

if TYPE_CHECKING:
    from tacit.data.selection import Selection
    from tacit.data.tables import Table
    from tacit.show.output_files import Output

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
_MOST_NUMBERS = 100_000
_LOG = logging.getLogger(__name__)


def add_command(commands: Any, module: ModuleType) -> Any:
    """Add a command whose help is the docstring of its module: summary, description, and "examples:".

    Python -OO removes docstrings and therefore these texts. The module has two functions: `add`, which adds
    its options, and `run`.
    """
    name = module.__name__.rpartition(".")[2]
    first, _, rest = (module.__doc__ or "").partition("\n\n")
    description, _, examples = rest.partition("examples:\n")
    command = commands.add_parser(
        name,
        help=first.removeprefix(f"tacit {name}: ").rstrip("."),
        description=description.strip(),
        epilog=f"examples:\n{examples.rstrip()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.set_defaults(run=module.run, command=command, by=name)
    module.add(command)
    return command


def whole_number(least: int) -> Callable[[str], int]:
    """The type of an option that takes whole numbers of at least `least`."""

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be a whole number, {least} or more, got {text!r}")
        return int(text)

    return number


def numbers(text: str) -> list[float]:
    """FROM:TO:COUNT, geometrically spaced, or numbers separated by commas."""
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
            f"must be FROM:TO:COUNT with positive ends, or numbers separated by commas, got {text!r}"
        )
    if count > _MOST_NUMBERS:
        raise argparse.ArgumentTypeError(f"asks for {count:,} values; at most {_MOST_NUMBERS:,} are allowed")
    import numpy as np

    return [float(number) for number in np.geomspace(first, last, count)]


def add_data(command: Any) -> None:
    """Add DATA and --target."""
    command.add_argument(
        "data",
        metavar="DATA",
        help="CSV, TSV or other text with a header line (also .gz, .bz2, .xz; -: standard input), "
        "Parquet, Excel (.xlsx), or NPZ with arrays X and y",
    )
    add_option(command, "--target COL", "the column to predict (all others are features)")
    add_columns(command)
    command.add_argument("--features", nargs="+", metavar="COL", default=[], help="use only these features")


def add_columns(command: Any) -> None:
    """Add --drop and --index."""
    command.add_argument(
        "--drop",
        nargs="+",
        metavar="COL",
        default=[],
        help="leave out these columns: names, ranges FIRST:LAST, patterns such as 'nm_*', or positions (1 is "
        "the first column)",
    )
    command.add_argument("--index", metavar="COL", help="the column that names the samples; not a feature")


def add_flag(command: Any, name: str, help: str) -> None:
    """An option without a value."""
    command.add_argument(name, action="store_true", help=help)


def add_option(
    command: Any, name: str, help: str, kind: Any = None, default: Any = None, **more: Any
) -> None:
    """An option with a value, such as "--step G"; a default is added to its help."""
    flag, _, shown = name.partition(" ")
    text = help if default is None else f"{help} (default: %(default)s)"
    command.add_argument(flag, metavar=shown or None, type=kind, default=default, help=text, **more)


def add_units(command: Any, intercept: str, standardize: str = "") -> None:
    """Add --intercept and --standardize with their help."""
    add_flag(command, "--intercept", intercept)
    add_flag(
        command,
        "--standardize",
        standardize or "divide features by their standard deviation; the result is for the original features",
    )


def units_of(options: argparse.Namespace) -> dict[str, Any]:
    """The values of --intercept and --standardize, as arguments of functions."""
    return {"intercept": options.intercept, "standardize": options.standardize}


def add_seed(command: Any, what: str) -> None:
    """Add --seed with the default 0."""
    add_option(command, "--seed", what, whole_number(0), 0)


def add_out(command: Any) -> None:
    """Add --out, a folder."""
    add_option(command, "--out DIR", "output folder", default="tacit-output")


def add_outputs(command: Any, json: str, plot: str) -> None:
    """Add --json and --plot with their help."""
    add_option(command, "--json FILE", f"write {json} as JSON (-: standard output)")
    add_option(command, "--plot FILE", plot)


def read_data(options: argparse.Namespace, classes: bool = False, many: bool = False) -> Table:
    """Read the table given by DATA and --target, and report assumptions about its format."""
    from tacit.data.tables import read_table

    begun = time.perf_counter()
    table = read_table(
        options.data, options.target, classes=classes, many=many, selection=selection_of(options)
    )
    options.reading = time.perf_counter() - begun
    samples, features = table.X.shape
    _LOG.info("read %d samples with %d features from %s", samples, features, options.data)
    told_assumptions(options, table.assumed)
    options.advice = advice_on(table, getattr(options, "standardize", True), labels=classes)
    return table


def selection_of(options: argparse.Namespace) -> Selection:
    """The columns chosen by --drop, --index and --features."""
    from tacit.data.selection import Selection

    return Selection(tuple(options.drop), options.index, tuple(getattr(options, "features", ())))


def told_assumptions(options: argparse.Namespace, assumed: Sequence[str]) -> str:
    """Report what had to be assumed to read the data; return the name of the data."""
    where = "standard input" if options.data == "-" else str(options.data)
    if assumed:
        remark(f"assumed about {where}: {'; '.join(assumed)}")
    return where


def inputs_of(options: argparse.Namespace, X: Any) -> Any:
    """The features after --intercept and --standardize; initializations that depend on data use these."""
    from tacit.data.prepared import Design

    return Design(X, options.intercept, options.standardize).features


def source(options: argparse.Namespace, table: Table) -> dict[str, Any]:
    """The source of the data, for JSON."""
    samples = {"samples": table.samples} if table.samples else {}
    return {"data": options.data, "target": table.target, "assumed": table.assumed, **samples}


def check_output_files(options: argparse.Namespace, others: Sequence[Output] = ()) -> None:
    """Check that all outputs can be written, before they are computed."""
    from tacit.show.output_files import check_outputs

    for path in (options.json, options.plot, *(output.path for output in others)):
        if path and os.path.exists(path) and options.data != "-" and os.path.samefile(path, options.data):
            raise InputError(f"{path} is the data file; choose another name for the result")
    check_outputs([*json_and_plot(options), *others])


def deliver(
    options: argparse.Namespace,
    summary: str,
    content: Callable[[], dict[str, Any]],
    draw: Callable[[str], Any],
    saved: dict[str, Callable[[], str]] | None = None,
    width: int = 11,
) -> None:
    """Print, write and draw a result as requested; with --json -, nothing but JSON is printed.

    saved: other outputs: their names in the printed text, and functions that write them and return the text.
    width: of the names in the summary, for the alignment of file names.
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
            # Paths are not wrapped, so that they can be copied.
            print(printable(f"  {name:<{width}}  {file}"))
        print(wrapped(f"  {'elapsed':<{width}}  {waited(options)}"))
    for advice in options.advice:
        remark(advice)


def deliver_for(options: argparse.Namespace, table: Table, result: Any) -> None:
    """Print, write and draw a result for the features of a table."""
    deliver(
        options,
        result.summary(table.features),
        lambda: {**source(options, table), "features": table.features, **result.to_dict()},
        lambda file: result.plot(file, names=table.features),
    )


def json_and_plot(options: argparse.Namespace) -> list[Output]:
    """The files given by --json and --plot."""
    from tacit.show.figures import figure_kind
    from tacit.show.output_files import Output

    found = [] if options.json in (None, "-") else [Output(options.json, "json", options.by)]
    if options.plot is not None:
        found.append(Output(options.plot, figure_kind(options.plot), options.by))
    return found
