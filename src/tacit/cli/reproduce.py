"""tacit reproduce: reproduce figures of the papers, with a test of every claim.

Reproduce figures of the papers: the picture (PNG, PDF), the data (netCDF), and a JSON file with
every claim, its measured value, its threshold and the verdict. The exit status is 1 if a claim
fails. Several figures are made in parallel. An existing figure that was made by the same software
with the same preset and seed is kept, so a run can be resumed. A figure with another preset or
seed is replaced only with --force; use another --out to keep both. Figures of MNIST and CIFAR-10
need the data, in the folder TACIT_DATA or from OpenML through scikit-learn; if the data are
missing, all other figures are made.

examples:
  tacit reproduce list
  tacit reproduce woodworth2020/fig1a
  tacit reproduce azulay2021 --jobs 2
  tacit reproduce all --preset paper --out figures
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from tacit.cli.options import DONE, FAILED, add_flag, add_option, add_out, add_seed
from tacit.cli.reproduce_many import add_jobs
from tacit.errors import MissingPackageError

if TYPE_CHECKING:
    from tacit.cli.reproduce_many import How
    from tacit.papers import Entry
    from tacit.show.output_files import Output

_READABLE = 30  # columns that a title needs


def add(command: Any) -> None:
    """Add the options of the command."""
    command.add_argument(
        "selection",
        nargs="?",
        default="list",
        metavar="list | PAPER | PAPER/FIGURE | all",
        help="all, a paper, a figure, or list (default: list)",
    )
    sizes = "quick: takes seconds; paper: the sizes in the paper"
    add_option(command, "--preset", sizes, default="quick", choices=("quick", "paper"))
    add_seed(command, "of the random data")
    add_flag(command, "--force", "make existing figures again, and replace those with another preset or seed")
    add_jobs(command)
    add_out(command)
    add_option(command, "--json FILE", "write all verdicts as JSON (-: standard output)")


def run(options: argparse.Namespace) -> int:
    from tacit.papers import figures
    from tacit.show.output_files import Output, check_outputs, write_json

    chosen = figures(options.selection)
    by = f"reproduce {options.selection}"
    table = [] if options.json in (None, "-") else [Output(options.json, "json", by)]
    check_outputs(table)
    if options.selection == "list":
        content: list[dict[str, Any]] = [{"figure": each.key, "caption": each.caption} for each in chosen]
        if options.json != "-":
            print(_listing(chosen))
    else:
        content = _make_figures(chosen, options, table)
    holds = all(entry.get("holds", True) for entry in content)
    if options.json is not None:
        write_json({"figures": content, "holds": holds}, options.json, by)
    return DONE if holds else FAILED


def _listing(chosen: list[Entry]) -> str:
    """Keys and titles by paper, one per line, or on two lines if the terminal is narrow."""
    from tacit.cli.terminal import columns, shortened, wrapped
    from tacit.papers.catalogue import titles

    parts = []
    for paper, title in titles().items():
        entries = [entry for entry in chosen if entry.key.startswith(f"{paper}/")]
        if not entries:
            continue
        lines = [wrapped(title)]
        width = max(len(entry.key) for entry in entries)
        room = columns() - width - 4
        for entry in entries:
            if room < _READABLE:
                lines += [f"  {entry.key}", f"    {shortened(entry.title, columns() - 4)}"]
            else:
                lines.append(f"  {entry.key:<{width}}  {shortened(entry.title, room)}")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _make_figures(
    chosen: list[Entry], options: argparse.Namespace, table: list[Output]
) -> list[dict[str, Any]]:
    """Make the figures that the folder lacks, after checking that they can be written."""
    from tacit.cli import reproduce_many
    from tacit.papers.completed import finished

    asked = {name: getattr(options, name) for name in ("preset", "seed", "out")}
    before = {} if options.force else reproduce_many.those_of(chosen, lambda entry: finished(entry, **asked))
    more = {name: getattr(options, name) for name in ("force", "jobs", "debug")}
    how = reproduce_many.How(**asked, **more, quiet=options.json == "-")
    reproduce_many.check_figure_files([entry for entry in chosen if entry.key not in before], how, table)
    if len(chosen) == 1:
        return [_make_one(chosen[0], how, before.get(chosen[0].key))]
    contents = reproduce_many.make(chosen, how, before)
    if not how.quiet:
        took = time.perf_counter() - options.begun
        print(f"\n{reproduce_many.table(contents)}\n\n{reproduce_many.total(contents, took)}")
    return contents


def _make_one(entry: Entry, how: How, before: dict[str, Any] | None) -> dict[str, Any]:
    from tacit.cli import reproduce_many
    from tacit.cli.terminal import wrapped
    from tacit.papers import reproduce
    from tacit.papers.reproduction import in_words

    if before is None:
        try:
            content = {**reproduce(entry, **how.asked).to_dict(), "from_before": False}
        except MissingPackageError as error:
            raise MissingPackageError(f"{entry.key}: {error}") from error
    else:
        content = {**before, "from_before": True}
    if not how.quiet:
        reproduce_many.tell(in_words(content))
        if before is not None:
            print(wrapped("  kept: made earlier by the same software; --force makes it again"))
    return content
