"""The command line: parsing and printing only."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any, NoReturn

from tacit import __version__
from tacit.cli import (
    check,
    complete,
    completion,
    demo,
    derive,
    descend,
    fit,
    flow,
    limit,
    path,
    predict,
    probe,
    report,
    reproduce,
    sweep,
)
from tacit.cli.guests import blaming_guests
from tacit.cli.interrupts import ending_at_once, say_interrupted
from tacit.cli.options import BAD_INPUT, FAILED, INTERRUPTED, add_command
from tacit.cli.streams import tolerating_closed_streams, write_anything
from tacit.cli.terminal import begun, logging_to_terminal
from tacit.data.printable import printable
from tacit.errors import NotConvergedError, TacitError
from tacit.show.output_files import reserving_output
from tacit.show.progress import announcing, silenced

_MOST_THREADS = 4
_SIMILAR = 0.65  # of difflib; its default of 0.6 suggests --verbose for --bogus
_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_COMMANDS = (
    limit,
    flow,
    descend,
    path,
    fit,
    predict,
    check,
    complete,
    derive,
    probe,
    sweep,
    reproduce,
    report,
    demo,
    completion,
)


def _use_few_threads() -> None:
    """Use half of the cores and at most four threads, unless the user has set the number.

    Most matrices here are small, so that more threads mostly wait for each other: on a busy machine this took
    ten times as long. NumPy reads the setting when it is loaded, so it has no effect afterwards.
    """
    if "numpy" not in sys.modules:
        for name in _THREADS:
            os.environ.setdefault(name, str(max(1, min(_MOST_THREADS, (os.cpu_count() or 1) // 2))))


_use_few_threads()


class _Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line, with a suggestion and the command that shows the help."""

    def error(self, message: str) -> NoReturn:
        if found := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)$", message, re.DOTALL):
            message += _suggestion(found[1], re.findall(r"[\w-]+", found[2]))
        self.exit(BAD_INPUT, f"tacit: {_in_one_line(message)} (try '{self.prog} --help')\n")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        _flush()
        super().exit(status, message)


def _suggestion(word: str, known: Iterable[str]) -> str:
    """Ask whether a similar word was meant; empty if there is none."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=_SIMILAR)
    return f"; did you mean {near[0]!r}?" if near else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    arguments = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    with tolerating_closed_streams():
        write_anything()
        return _status(arguments)


def _status(arguments: Sequence[str]) -> int:
    """Run a command; report an error in one line on standard error."""
    try:
        with ending_at_once():
            started = begun()
            options = _parse(arguments)
            options.begun = started
            status = _run(options)
            _flush()
            return status
    except KeyboardInterrupt:
        say_interrupted()
        _give_up_output()
        return INTERRUPTED
    except Exception as error:
        if "--debug" in arguments:
            raise
        print(f"tacit: {_in_one_line(_explanation(error))}", file=sys.stderr)
        _give_up_output()
        refused = isinstance(error, TacitError | OSError) and not isinstance(error, NotConvergedError)
        return BAD_INPUT if refused else FAILED


def _run(options: argparse.Namespace) -> int:
    """Run the command; with --json -, standard output receives JSON only, even if the user's code prints."""
    only_json = getattr(options, "json", None) == "-"
    with ExitStack() as around:
        for context in (announcing(), blaming_guests()):
            around.enter_context(context)
        if options.quiet:
            around.enter_context(silenced())
        if options.verbose:
            around.enter_context(logging_to_terminal())
        if only_json:
            around.enter_context(reserving_output())
        return int(options.run(options))


def _explanation(error: Exception) -> str:
    if isinstance(error, TacitError):
        return str(error)
    if isinstance(error, OSError):
        return ": ".join(str(part) for part in (error.filename, error.strerror or error) if part)
    return f"unexpected {type(error).__name__}: {error} (--debug shows the traceback)"


def _in_one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def _flush() -> None:
    print(end="", flush=True)


def _give_up_output() -> None:
    """Discard output that standard output does not accept, so that it does not fail again at exit."""
    try:
        _flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    if arguments[0] == "help":  # tacit help [COMMAND]
        arguments = [*arguments[1:], "--help"]
    parser = _parser()
    options, unknown = parser.parse_known_args(_with_negative_numbers(arguments))
    options.parser = parser
    if unknown:
        known = options.command._option_string_actions
        first = next((each for each in unknown if each.startswith("-")), "").partition("=")[0]
        meant = _suggestion(first, known) if first else ""
        options.command.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
    return options


def _with_negative_numbers(arguments: Sequence[str]) -> list[str]:
    """Write `--log-scale -1e3` as `--log-scale=-1e3`, since argparse takes a leading minus for an option."""
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
    parser.set_defaults(verbose=False, quiet=False, advice=())
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for each in (parser, *(add_command(commands, module) for module in _COMMANDS)):
        each.add_argument("--debug", action="store_true", help="show the full traceback of an error")
        _add_verbosity(each.add_mutually_exclusive_group())
    return parser


def _add_verbosity(group: Any) -> None:
    """Add -v and --quiet, which may stand before or after the command: hence without defaults."""
    told = {"default": argparse.SUPPRESS}
    group.add_argument("-v", "--verbose", action="store_true", help="report what is computed and how", **told)
    group.add_argument("--quiet", action="store_true", help="print results and errors only", **told)
