"""The command line: parsing and printing only."""

from __future__ import annotations

import argparse
import io
import math
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tacit import __version__
from tacit.errors import InputError, NotConvergedError, TacitError

if TYPE_CHECKING:
    from tacit.papers import Entry

DONE, FAILED, BAD_INPUT = 0, 1, 2


class _Parser(argparse.ArgumentParser):
    """Errors in one line, with the next thing to type."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"tacit: {_in_one_line(message)} (try '{self.prog} --help')\n")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        _flush()
        super().exit(status, message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the return value is the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # not every terminal knows every letter
    try:
        options = _parse(arguments)
        status = options.run(options)
        _flush()
        return int(status)
    except KeyboardInterrupt:
        print("tacit: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        _give_up_output()
        return DONE
    except Exception as error:
        if "--debug" in arguments:
            raise
        print(f"tacit: {_in_one_line(_explanation(error))}", file=sys.stderr)
        _give_up_output()
        refused = isinstance(error, TacitError | OSError) and not isinstance(error, NotConvergedError)
        return BAD_INPUT if refused else FAILED


def _explanation(error: Exception) -> str:
    if isinstance(error, TacitError):
        return str(error)
    if isinstance(error, OSError):
        return ": ".join(str(part) for part in (error.filename, error.strerror or error) if part)
    return f"unexpected {type(error).__name__}: {error} (--debug shows where it arose)"


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def _flush() -> None:
    print(end="", flush=True)


def _give_up_output() -> None:
    """Send what standard output will not take nowhere, so that it fails no second time at exit."""
    try:
        _flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    options, unknown = _parser().parse_known_args(_with_negative_numbers(arguments))
    if unknown:
        options.command.error(f"unrecognized arguments: {' '.join(unknown)}")
    return options


def _with_negative_numbers(arguments: Sequence[str]) -> list[str]:
    """`--log-scale -1e3` as `--log-scale=-1e3`: argparse takes what begins with a minus for a flag."""
    joined: list[str] = []
    for argument in arguments:
        if re.match(r"-(\.?\d|inf|nan)", argument) and joined and re.fullmatch(r"--[a-z-]+", joined[-1]):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="tacit",
        description="Of all the solutions that fit the data, which one does gradient descent pick, and why?",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"tacit {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for each in (parser, *(add(commands) for add in (_add_limit, _add_reproduce, _add_demo))):
        each.add_argument("--debug", action="store_true", help="show the full traceback of an error")
    return parser


def _command(commands: Any, name: str, run: Callable[..., int], help: str, **texts: str) -> Any:
    command = commands.add_parser(
        name,
        help=help,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        **texts,
    )
    command.set_defaults(run=run, command=command)
    return command


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number, 0 or more, got {text!r}")
    return int(text)


def _model_name(text: str) -> str:
    """The model's name, also as its class is called."""
    return {"Diagonal": "diagonal", "UntiedDiagonal": "untied", "untied-diagonal": "untied"}.get(text, text)


def _add_limit(commands: Any) -> Any:
    command = _command(
        commands,
        "limit",
        _limit,
        help="where gradient flow ends on your data, without running it",
        description="Where gradient flow on the square loss ends, without running it: the model's weights\n"
        "start at the given scale (and shape), and of all w with X w = y this is the one it reaches.",
        epilog="examples:\n"
        "  tacit limit genes.csv --target response --depth 2 --scale 1e-3\n"
        "  tacit limit genes.csv --target response --depth 3 --scale 0.05 --plot limit.png\n"
        "  tacit limit data.npz --model untied --scale 1e-4 --shape 0.9 --json -",
    )
    command.add_argument("data", metavar="DATA", help="CSV, TSV, Parquet, or NPZ with arrays X and y")
    command.add_argument("--target", metavar="COL", help="the column to predict (all others are features)")
    command.add_argument(
        "--model",
        type=_model_name,
        choices=("diagonal", "untied"),
        default="diagonal",
        help="diagonal: β = w₊^D − w₋^D; untied: w = u₊v₊ − u₋v₋ (default: %(default)s)",
    )
    command.add_argument("--depth", type=float, help="depth D of a diagonal model, 2 or more (default: 2)")
    command.add_argument(
        "--scale",
        type=float,
        help="size at the start: of the weights (diagonal) or of the product u·v (untied); default 1",
    )
    command.add_argument(
        "--log-scale", type=float, help="natural logarithm of the scale, where it leaves the float range"
    )
    command.add_argument("--shape", type=float, help="how the layers of an untied model compare, -1 to 1")
    command.add_argument("--tol", type=float, default=1e-10, help="tolerance (default: %(default)s)")
    command.add_argument("--json", metavar="FILE", help="write the result as JSON; - for standard output")
    command.add_argument("--plot", metavar="FILE", help="draw the limit between its two ends (png, pdf, svg)")
    return command


def _limit(options: argparse.Namespace) -> int:
    from tacit.data import read_table
    from tacit.limits import limit
    from tacit.outputs import write_json

    table = read_table(options.data, options.target)
    model = _model(options)
    _claim_outputs(options)
    result = limit(model, table.X, table.y, tol=options.tol)
    speak = options.json != "-"
    if speak:
        print(result.summary())
    if options.json is not None:
        content = {"data": options.data, "target": table.target, "features": table.features}
        write_json({**content, **result.to_dict()}, options.json)
    if options.plot is not None:
        from tacit.portrait import draw_limit

        path = draw_limit(result, table.features, options.plot)
        if speak:
            print(f"  figure       {path}")
    return DONE if result.converged else FAILED


def _claim_outputs(options: argparse.Namespace) -> None:
    """Everything that could keep the results from being written, said before they are computed."""
    from tacit.figures import figure_kind
    from tacit.outputs import claim_all

    for path in (options.json, options.plot):
        if path and os.path.exists(path) and os.path.samefile(path, options.data):
            raise InputError(f"{path} is the data itself; write the result elsewhere")
    picture = [] if options.plot is None else [(options.plot, figure_kind(options.plot))]
    claim_all([*_json_file(options), *picture])


def _json_file(options: argparse.Namespace) -> list[tuple[str, str]]:
    return [] if options.json in (None, "-") else [(options.json, "json")]


def _model(options: argparse.Namespace) -> Any:
    from tacit.models import Diagonal, UntiedDiagonal

    if options.model == "untied":
        for name in ("depth", "log_scale"):
            if getattr(options, name) is not None:
                raise InputError(
                    f"--{name.replace('_', '-')} does not go with --model untied, which has depth 2"
                )
        scale = 1.0 if options.scale is None else options.scale
        return UntiedDiagonal(scale=scale, shape=options.shape or 0.0)
    if options.shape is not None:
        raise InputError("--shape goes with --model untied; a tied diagonal model has no shape")
    if options.log_scale is not None and options.scale is not None:
        raise InputError("give --scale or --log-scale, not both")
    scale = 1.0 if options.scale is None else options.scale
    if not 0 < scale < math.inf:
        raise InputError(
            f"--scale must be positive and finite, got {scale:g}; beyond 1e-308 or 1e308 give its natural "
            "logarithm, with --log-scale"
        )
    depth = 2.0 if options.depth is None else options.depth
    return Diagonal(depth=depth, scale=scale, log_scale=options.log_scale)


def _add_reproduce(commands: Any) -> Any:
    command = _command(
        commands,
        "reproduce",
        _reproduce,
        help="figures of the papers, with a verdict on every claim",
        description="Make figures of the papers again: picture (PNG, PDF), data (netCDF) and a JSON with\n"
        "every claim, its measured value, its threshold and the verdict. Exit status 1 if one fails.",
        epilog="examples:\n"
        "  tacit reproduce list\n"
        "  tacit reproduce woodworth2020/fig1a\n"
        "  tacit reproduce all --preset paper --out figures",
    )
    command.add_argument(
        "selection",
        nargs="?",
        default="list",
        metavar="list | PAPER | PAPER/FIGURE | all",
        help="what to make (default: list)",
    )
    command.add_argument(
        "--preset",
        choices=("quick", "paper"),
        default="quick",
        help="quick: seconds; paper: the paper's sizes (default: %(default)s)",
    )
    command.add_argument("--seed", type=_seed, default=0, help="of the random data (default: %(default)s)")
    command.add_argument("--out", default="tacit-output", metavar="DIR", help="folder (default: %(default)s)")
    command.add_argument("--json", metavar="FILE", help="all verdicts as JSON; - for standard output")
    return command


def _reproduce(options: argparse.Namespace) -> int:
    from tacit.outputs import claim_all, write_json
    from tacit.papers import figures

    chosen = figures(options.selection)
    listing = options.selection == "list"
    files = [] if listing else [item for entry in chosen for item in entry.files(options.out).items()]
    claim_all([*((path, kind) for kind, path in files), *_json_file(options)])
    content = _list_figures(chosen, options) if listing else _make_figures(chosen, options)
    holds = all(entry.get("holds", True) for entry in content)
    if options.json is not None:
        write_json({"figures": content, "holds": holds}, options.json)
    return DONE if holds else FAILED


def _list_figures(chosen: list[Entry], options: argparse.Namespace) -> list[dict[str, Any]]:
    if options.json != "-":
        width = max(len(entry.key) for entry in chosen)
        print("\n".join(f"{entry.key:<{width}}  {entry.caption}" for entry in chosen))
    return [{"figure": entry.key, "caption": entry.caption} for entry in chosen]


def _make_figures(chosen: list[Entry], options: argparse.Namespace) -> list[dict[str, Any]]:
    from tacit.papers import reproduce

    made = []
    for entry in chosen:
        result = reproduce(entry, preset=options.preset, seed=options.seed, out=options.out)
        made.append(result.to_dict())
        if options.json != "-":
            print(result.summary(), flush=True)
    return made


def _add_demo(commands: Any) -> Any:
    command = _command(
        commands,
        "demo",
        _demo,
        help="the main job on built-in data: from the kernel to the rich regime",
        description="Sparse regression with 100 samples and 1000 features: where gradient flow ends, for\n"
        "scales from the kernel to the rich regime, with certificates, a table and a figure.",
        epilog="examples:\n  tacit demo\n  tacit demo --seed 7 --out figures",
    )
    command.add_argument("--out", default="tacit-output", metavar="DIR", help="folder (default: %(default)s)")
    command.add_argument("--seed", type=_seed, default=0, help="of the random data (default: %(default)s)")
    return command


def _demo(options: argparse.Namespace) -> int:
    from tacit.demo import demo

    return DONE if demo(options.out, options.seed) else FAILED
