"""tacit report: collect all figures, claims, theorems and errata in one HTML file.

Write one self-contained HTML file with every figure of the papers, its claims, measured numbers,
thresholds, verdicts and versions; the theorems; the errata; and results beyond the papers.
Figures that 'tacit reproduce' has made are taken from their folder; missing figures are made
first with the quick preset. The exit status is 1 if a claim fails.

examples:
  tacit report
  tacit reproduce all --preset paper --out figures && tacit report --from figures --out report.html
"""

from __future__ import annotations

import argparse
import datetime
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.cli.options import DONE, FAILED, add_option
from tacit.cli.reproduce_many import How, add_jobs, check_figure_files
from tacit.errors import InputError

if TYPE_CHECKING:
    from tacit.papers import Entry

_FIGURES = "tacit-output"


def add(command: Any) -> None:
    """Add the options of the command."""
    add_option(command, "--out FILE", "output file", default="tacit-report.html")
    add_option(command, "--from DIR", f"folder with existing figures (default: {_FIGURES})", dest="folder")
    add_jobs(command)


def run(options: argparse.Namespace) -> int:
    from tacit.cli import reproduce_many
    from tacit.cli.terminal import say, wrapped
    from tacit.papers import figures
    from tacit.papers.completed import kept
    from tacit.report import Shown, page
    from tacit.show.output_files import Output, check_output, write_file

    if not options.out.lower().endswith((".html", ".htm")):
        raise InputError(f"the report is HTML; name its file .html, not {options.out!r}")
    target = Output(options.out, "html", "report")
    check_output(target)
    folder, chosen = _folder(options.folder), figures("all")
    before = reproduce_many.those_of(chosen, lambda entry: kept(entry, folder))
    how = How("quick", 0, folder, jobs=options.jobs, quiet=True, debug=options.debug)
    with _written(how, [entry for entry in chosen if entry.key not in before]) as able:
        contents = reproduce_many.make(chosen, able, before)
        files = [content.get("files") if "claims" in content else None for content in contents]
        pictures = [None if each is None else Path(each["png"]).read_bytes() for each in files]
    shown = [Shown(*each) for each in zip(chosen, contents, pictures, strict=True)]
    write_file(page(shown, datetime.date.today().isoformat()).encode(), target)
    print(wrapped(reproduce_many.total(contents, time.perf_counter() - options.begun)))
    say(options.out)
    return DONE if all(content.get("holds", True) for content in contents) else FAILED


def _folder(named: str | None) -> str:
    """The folder of figures; it must exist if the user names it."""
    from tacit.show.output_files import make_folder

    if named is None:
        make_folder(_FIGURES)
        return _FIGURES
    if not os.path.isdir(named):
        raise InputError(f"no folder {named}; 'tacit reproduce all --out {named}' makes it")
    return named


@contextmanager
def _written(how: How, missing: Sequence[Entry]) -> Iterator[How]:
    """Make missing figures in the folder; in a temporary one if a file there may not be replaced."""
    try:
        check_figure_files(missing, how)
        hindrance = ""
    except InputError as error:
        hindrance = str(error)
    if not hindrance:
        yield how
        return
    from tacit.cli.terminal import remark

    remark(f"figures missing in {how.out} are made for the report only: {hindrance}")
    with tempfile.TemporaryDirectory() as elsewhere:
        yield replace(how, out=elsewhere)
