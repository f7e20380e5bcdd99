"""tacit report: the papers, reproduced, in one HTML file."""

from __future__ import annotations

import argparse
import datetime
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.cli.options import DONE, FAILED, add_command
from tacit.cli.several import add_jobs
from tacit.errors import InputError

if TYPE_CHECKING:
    from tacit.papers import Entry


def add(commands: Any) -> Any:
    """The command and its options."""
    command = add_command(
        commands,
        "report",
        _run,
        help="all figures, claims, theorems and errata in one HTML file",
        description="One HTML file that needs nothing else: every figure of the papers with its claims,\n"
        "measured numbers, thresholds, verdicts and versions; the theorems; the errata; and what goes\n"
        "beyond the papers. Figures that 'tacit reproduce' has made are taken from their folder, whatever\n"
        "their preset; those that are missing are made first, at the quick preset. Exit status 1 if a\n"
        "claim fails.",
        epilog="examples:\n"
        "  tacit report\n"
        "  tacit reproduce all --preset paper --out figures && tacit report --from figures --out report.html",
    )
    command.add_argument(
        "--out", default="tacit-report.html", metavar="FILE", help="the file (default: %(default)s)"
    )
    command.add_argument(
        "--from",
        dest="folder",
        default="tacit-output",
        metavar="DIR",
        help="the folder of figures (default: %(default)s)",
    )
    add_jobs(command)
    return command


def _run(options: argparse.Namespace) -> int:
    from tacit.cli import several
    from tacit.cli.terminal import wrapped
    from tacit.papers import figures
    from tacit.papers.finished import kept
    from tacit.report import Shown, page
    from tacit.show.outputs import claim_path, make_folder, write_file

    if not options.out.lower().endswith((".html", ".htm")):
        raise InputError(f"the report is HTML; name its file .html, not {options.out!r}")
    claim_path(options.out, "html")
    make_folder(options.folder)
    chosen = figures("all")
    how = several.How("quick", 0, options.folder, options.jobs, quiet=True, debug=options.debug)
    contents = several.make(chosen, how, lambda entry: kept(entry, options.folder))
    shown = [
        Shown(entry, content, _picture(entry, options.folder) if "claims" in content else None)
        for entry, content in zip(chosen, contents, strict=True)
    ]
    write_file(page(shown, datetime.date.today().isoformat()).encode(), options.out, "html")
    print(wrapped(several.total(contents, time.perf_counter() - options.begun)))
    print(options.out)
    return DONE if all(content.get("holds", True) for content in contents) else FAILED


def _picture(entry: Entry, folder: str) -> bytes:
    return Path(entry.files(folder)["png"]).read_bytes()
