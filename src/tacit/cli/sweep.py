"""tacit sweep: evaluate limits over a grid described in a file, in parallel and resumable.

Evaluate limits at every point of a grid. The study is a TOML file:

    measures = ["population_error", "l1_norm"]
    [model]
    family = "diagonal"          # or "untied"
    depth = 2
    [generator]                  # random problems; or [data] with file and target
    samples = 40
    features = 200
    [grid]
    scale = {from = 1e-6, to = 10, count = 41}
    draw = 10                    # random problems
    [run]
    store = "results"            # finished points; resumes an interrupted study

The picture has lines for one parameter and a map for two; draws are averaged. The exit status is 1
if there was an error at a point.

examples:
  tacit sweep examples/recovery.toml --store results --plot recovery.png
  tacit sweep examples/scale-and-shape.toml --executor dask:tcp://10.0.0.1:8786 --json out.json
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from tacit.cli.options import DONE, FAILED, add_outputs, json_and_plot
from tacit.cli.terminal import in_words, say


def add(command: Any) -> None:
    """Add the options of the command."""
    command.add_argument("study", metavar="STUDY.toml", help="the description of the study")
    command.add_argument("--store", metavar="DIR", help="folder for finished points; resumes the study")
    command.add_argument(
        "--executor",
        metavar="NAME",
        help="processes (one for each core, the default), processes:N, serial, or dask:ADDRESS",
    )
    add_outputs(command, "all values", "draw the measures (png, pdf, svg)")


def run(options: argparse.Namespace) -> int:
    from tacit.parallel.executors import check_executor
    from tacit.show.output_files import check_outputs, write_json
    from tacit.studies.picture import study_picture
    from tacit.studies.study_file import read_study
    from tacit.studies.sweep import sweep

    study = read_study(options.study)
    for name in ("store", "executor", "plot"):
        if getattr(options, name) is None:
            setattr(options, name, study.run.get(name))
    check_executor(options.executor)
    check_outputs(json_and_plot(options))
    begun = time.perf_counter()
    found = sweep(
        study.function,
        study.grid,
        store=options.store,
        executor=options.executor,
        seed=study.run.get("seed", 0),
    )
    failed = int((found.errors != "").sum())
    if options.json != "-":
        _tell(study, found, failed, time.perf_counter() - begun)
    if options.json is not None:
        write_json(
            {"study": options.study, "title": study.title, **found.to_dict()}, options.json, options.by
        )
    if options.plot is not None:
        file = study_picture(found, study.level).to(options.plot)
        if options.json != "-":
            say(f"  {'figure':<11}  {file}")
    return FAILED if failed else DONE


def _tell(study: Any, found: Any, failed: int, seconds: float) -> None:
    """Print the size of the study, the ranges of its measures, and the first error."""
    size = " × ".join(f"{len(values):,} {name}" for name, values in study.grid.items())
    say(f"  {'study':<11}  {study.title}")
    say(f"  {'points':<11}  {found.errors.size:,} ({size})")
    for name, each in found.data_vars.items():
        if each.dtype.kind in "biuf":
            say(f"  {name:<11}  {float(each.min()):.4g} to {float(each.max()):.4g}")
    if failed:
        first = next(text for text in found.errors.values.ravel().tolist() if text)
        say(f"  {'errors':<11}  at {failed:,} points; the first: {first}")
    say(f"  {'elapsed':<11}  {in_words(seconds)}")
