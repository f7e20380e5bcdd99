"""tacit check: check which theorems apply to your model and data, and whether they hold.

Evaluate every theorem about training that applies to the model on these data: its assumptions,
its bounds, the measured values, and how loose the bounds are. Theorems about classification
need two classes: -1 and +1, or any other two (the first in sorted order is -1).

examples:
  tacit check genes.csv --target response --depth 2 --scale 1e-3
  tacit check genes.csv --target response --log-scale -100 --with epsilon=0.05
  tacit check cells.csv --target label --scale 10 --only moroshko2020
  tacit check data.npz --model linear --width 500 --json -
  tacit check genes.csv --target response --scale 1e-3 --plot bounds.png
  tacit check --list

parameters for --with:
  epsilon        woodworth2020/theorem2: relative excess of a norm over its minimum
  method         woodworth2020/theorem1, theorem3: auto, or parameters to integrate
                 the raw weights (slower, but independent of the potential)
  until          moroshko2020/lemma3, lemma11, lemma13: largest accuracy
  mu             moroshko2020/condition5, theorem6: scale over accuracy
  power, scales  moroshko2020/theorem4, theorem7: the flow stops at accuracy s^power
                 for scales s, in units of ‖w_ℓ2‖₂; theorem6: scales
  down_to        moroshko2020/condition5: smallest μ; min2021/theorem1: share of the
                 loss at which the flow stops
  alpha, delta   min2021/theorem2: weights drawn from N(0, width^(-2·alpha)), and
                 the bound holds with probability 1 - delta; moroshko2020/depth:
                 delta is the excess ℓ1 norm
  widths, seed   min2021/rate: widths and seed of the Gaussian networks
  noise, draws   woodworth2020/sample-size: noise of the targets, and number of
                 random tables of this size (from seed); sample-size-rich: draws
  nonzero        woodworth2020/sample-size-rich: number of relevant features
  momentum, nesterov  practice/effective-start, second-order: momentum, and whether
                 it is Nesterov's
  decay, time    practice/lasso: weight decay; decay-off: when it is switched off
"""

from __future__ import annotations

import argparse
from typing import Any

from tacit.cli.models import add_model, model_of
from tacit.cli.options import (
    DONE,
    FAILED,
    add_data,
    add_flag,
    add_option,
    add_outputs,
    add_units,
    check_output_files,
    read_data,
    source,
    units_of,
)
from tacit.cli.terminal import waited, wrapped
from tacit.errors import InputError, NotConvergedError


def add(command: Any) -> None:
    """Add the options of the command."""
    add_data(command)
    add_model(command, ("diagonal", "untied", "neuron", "linear"))
    add_units(
        command,
        "centre features and target, which amounts to regression with an unpenalized intercept; not for "
        "theorems about classification",
        "divide features by their standard deviation",
    )
    add_option(command, "--only KEY", "check only this paper or theorem (default: all)")
    values = "set a parameter of the theorems that have it, such as epsilon=0.01 or scales=1e3,1e4,1e5 "
    values += "(may be repeated; --list shows the parameters of each theorem)"
    add_option(command, "--with NAME=VALUE", values, dest="parameters", action="append")
    add_flag(
        command, "--all", "also show theorems that do not apply, with the reason and the measured values"
    )
    command.add_argument("--list", action=_List, help="list the theorems and their parameters, and exit")
    plot = "draw the measured values relative to the bounds, the tightest first (.png, .pdf, .svg)"
    add_outputs(command, "the verdicts", plot)


class _List(argparse.Action):
    """--list, which needs no data, like --help."""

    def __init__(self, option_strings: list[str], dest: str, **texts: Any):
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, **texts)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from tacit.papers.checking import data_theorems

        print(_listing(data_theorems()))
        parser.exit()


def _in_units(X: Any, y: Any, intercept: bool, standardize: bool) -> tuple[Any, Any]:
    """Data transformed such that the problem without intercept equals the one with the given options."""
    from tacit.data.arrays import as_floats, as_labels
    from tacit.data.prepared import Design

    design = Design(X, intercept, standardize)
    if not intercept:
        return design.features, y
    return design.fittable(
        as_labels(y, "an intercept") if y.dtype.kind in "OUST" else as_floats(y, "y", ndim=(1,))
    )


def run(options: argparse.Namespace) -> int:
    from tacit.models.model import check_intercept
    from tacit.papers.checking import check, select_theorems
    from tacit.show.output_files import write_json

    parameters = _parameters(options.parameters or [], select_theorems(options.only))
    table = read_data(options, classes=True)
    X, y = _in_units(table.X, table.y, options.intercept, options.standardize)
    model = model_of(options, X)
    check_intercept(model, options.intercept)
    check_output_files(options)
    verdicts = check(model, X, y, only=options.only, anyway=options.all, **parameters)
    _refuse_what_none_could_take(verdicts)
    if options.json != "-":
        print(_report(verdicts, everything=options.all))
        print(wrapped(f"({waited(options)})"))
    if options.json is not None:
        asked = {**units_of(options), "parameters": parameters}
        write_json({**source(options, table), **asked, **verdicts.to_dict()}, options.json, "check")
    if options.plot is not None:
        verdicts.plot(options.plot, everything=options.all)
    # An undecided theorem is a failure, too, for example because a flow did not converge.
    lost = any(isinstance(error, NotConvergedError) for error in verdicts.refused.values())
    return FAILED if lost or not verdicts.holds else DONE


def _refuse_what_none_could_take(verdicts: Any) -> None:
    """Raise the error if the data prevented the evaluation of every theorem about this model."""
    errors = list(verdicts.refused.values())
    asked = any(not each.about_others for each in verdicts.others)
    if errors and not verdicts and not asked:
        raise next((each for each in errors if not isinstance(each, NotConvergedError)), errors[0])


def _parameters(given: list[str], chosen: list[Any]) -> dict[str, Any]:
    """The names and values given by --with."""
    from tacit.papers.checking import validate_parameters

    defaults = {name: value for each in chosen for name, value in each.defaults.items()}
    parameters: dict[str, Any] = {}
    for text in given:
        name, _, value = text.partition("=")
        if not name or not value:
            raise InputError(f"--with takes NAME=VALUE, such as epsilon=0.01, got {text!r}")
        validate_parameters([name], chosen)
        if name in parameters:
            raise InputError(f"--with {name} is given twice")
        parameters[name] = value if isinstance(defaults[name], str) else _numbers(name, value)
    return parameters


def _numbers(name: str, text: str) -> float | tuple[float, ...]:
    """A number or several; int if written without decimal point or exponent, as for seeds and counts."""
    try:
        numbers = tuple(int(each) if each.strip().isdecimal() else float(each) for each in text.split(","))
    except ValueError:
        raise InputError(
            f"--with {name} takes a number, or several separated by commas, got {text!r}"
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers


def _report(verdicts: Any, everything: bool) -> str:
    """The verdicts, a hint if some are hidden, and the theorems that were skipped."""
    hidden = not everything and bool(verdicts.others or verdicts.refused)
    hint = f"; --all shows {'the others' if verdicts else 'more of them'}" if hidden else ""
    text = wrapped(verdicts.summary(everything) + hint)
    if not verdicts.not_asked:
        return text
    keys = ", ".join(verdicts.not_asked)
    long = f"skipped, since they take minutes on data of this size: {keys}; --only KEY checks one"
    return f"{text}\n{wrapped(long)}"


def _listing(theorems: list[Any]) -> str:
    """All theorems by paper, with their number, statement and parameters."""
    from tacit.papers.catalogue import titles
    from tacit.papers.checking import DERIVED
    from tacit.results.verdicts import cited

    parts = []
    for paper, title in titles().items():
        lines = [title]
        for each in theorems:
            if each.key.startswith(f"{paper}/"):
                where = cited(*each.place)
                lines += [f"  {each.key}" + (f" ({where})" if where else ""), f"    {each.statement}"]
                lines += [f"    {name}: {DERIVED[name][0]}" for name in each.needs if name in DERIVED]
                lines += [f"    --with {name}={_shown(value)}" for name, value in each.defaults.items()]
        parts.append("\n".join(lines))
    return wrapped("\n\n".join(parts))


def _shown(default: Any) -> str:
    """A default value as it would be typed."""
    if default is None:
        return "… (default: determined from the data)"
    values = default if isinstance(default, tuple) else (default,)
    return ",".join(value if isinstance(value, str) else f"{value:g}" for value in values)
