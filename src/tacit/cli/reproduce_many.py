"""Reproduction of several figures in parallel processes, and a table of the results."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.cli.options import add_option, whole_number
from tacit.cli.terminal import in_words, remark, shortened, wrapped

if TYPE_CHECKING:
    from tacit.papers import Entry
    from tacit.show.output_files import Output

_Content = dict[str, Any]
_LEAST = 16  # columns for the reason why a figure is skipped


def add_jobs(command: Any) -> None:
    """Add --jobs."""
    jobs = "number of figures made in parallel, each in its own process (default: the number of cores)"
    add_option(command, "--jobs N", jobs, whole_number(1))


@dataclass(frozen=True)
class How:
    """The options for making figures.

    force: make existing figures again. jobs: number of processes; None for the number of cores. quiet: print
    nothing on standard output.
    """

    preset: str
    seed: int
    out: str
    force: bool = False
    jobs: int | None = None
    quiet: bool = False
    debug: bool = False

    @property
    def asked(self) -> dict[str, Any]:
        """The options that apply to every figure."""
        return {"preset": self.preset, "seed": self.seed, "out": self.out, "force": self.force}


def those_of(chosen: Sequence[Entry], found: Callable[[Entry], _Content | None]) -> dict[str, _Content]:
    """The content of those figures for which `found` returns one, by key."""
    return {entry.key: content for entry in chosen if (content := found(entry)) is not None}


def check_figure_files(missing: Sequence[Entry], how: How, others: Sequence[Output] = ()) -> None:
    """Check that all figures can be written, before they are computed."""
    from tacit.show.output_files import check_outputs, make_folder

    for folder in {os.path.dirname(os.path.join(how.out, entry.key)) for entry in missing}:
        make_folder(folder)
    files = [entry.outputs(**how.asked) for entry in missing]
    check_outputs([*(output for each in files for output in each.values()), *others])


def make(chosen: Sequence[Entry], how: How, before: Mapping[str, _Content]) -> list[_Content]:
    """The content of every figure in the given order; figures that are not in `before` are made first.

    Each content has "from_before", or the reason why the figure was not made in "left_out" or "error".
    """
    missing = [entry for entry in chosen if entry.key not in before]
    known = {key: {**content, "from_before": True} for key, content in before.items()}
    for answer in _made(missing, how):
        known[answer["key"]] = _told(answer, how)
    return [known[entry.key] for entry in chosen]


def _made(missing: Sequence[Entry], how: How) -> Iterator[dict[str, Any]]:
    """Yield results as they become available; report progress on standard error."""
    from tacit.papers import workers
    from tacit.papers.completed import kept
    from tacit.show.progress import Line

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    jobs = min(how.jobs or cores or 1, len(missing))
    if jobs < 2:
        yield from (workers.answer(entry, **how.asked) for entry in missing)
        return

    def took(entry: Entry) -> float | None:
        content = kept(entry, how.out)
        return content["seconds"] if content and content["preset"] == how.preset else None

    orders = [[workers.order(each, **how.asked) for each in group] for group in workers.groups(missing, took)]
    busy: list[str] = []
    done = 0
    with Line() as line, closing(workers.make_all(orders, jobs)) as events:
        for event in events:
            if "begun" in event:
                busy.append(event["begun"])
            else:
                busy.remove(event["key"])
                done += 1
                line.clear()
                yield event
            line.show(f"{done} of {len(missing)} figures made; running: {', '.join(busy)}")


def _told(answer: dict[str, Any], how: How) -> _Content:
    """Print the messages and verdicts of a result, and return its content."""
    if said := answer.get("said"):
        print(said, end="", file=sys.stderr)
    key = answer["key"]
    if "left_out" in answer:
        remark(f"{key} is skipped: {answer['left_out']}")
        return {"figure": key, "left_out": answer["left_out"]}
    if "error" in answer:
        remark(f"{key} was not made: {answer['error']}")
        if how.debug:
            print(answer.get("trace", ""), file=sys.stderr)
        return {"figure": key, "error": answer["error"], "holds": False}
    if not how.quiet:
        tell(answer["summary"])
    return {**answer["content"], "from_before": False}


def tell(summary: str) -> None:
    """Print the verdicts on a figure, and on the last line the path of its picture, which is not folded."""
    verdicts, _, picture = summary.rpartition("\n")
    print(f"{wrapped(verdicts)}\n{picture}", flush=True)


def table(contents: Sequence[_Content]) -> str:
    """A table of the figures: claims that hold and fail, seconds, and whether the figure is new."""
    from tacit.cli.terminal import columns

    width = max(len(content["figure"]) for content in contents)
    lines = [f"{'figure':<{width}}  hold  fail  seconds"]
    for content in contents:
        name = f"{content['figure']:<{width}}"
        if "claims" in content:
            held, failed = counts(content)
            text = "kept" if content["from_before"] else "new"
            numbers = f"{held:>4}  {failed or '-':>4}  {content['seconds']:>7.1f}"
            lines.append(f"{name}  {numbers}  {text}{'  FAILS' if failed else ''}")
        else:
            text = "skipped: " + content["left_out"] if "left_out" in content else content["error"]
            word = "NOT MADE: " if "error" in content else ""
            lines.append(f"{name}  {shortened(word + text, max(_LEAST, columns() - width - 2))}")
    return "\n".join(lines)


def counts(content: _Content) -> tuple[int, int]:
    """The number of claims that hold, and of claims that fail."""
    held = sum(claim["verdict"] == "holds" for claim in content["claims"])
    return held, len(content["claims"]) - held


def total(contents: Sequence[_Content], seconds: float) -> str:
    """The totals in one line."""
    made = [content for content in contents if "claims" in content]
    held, failed = (sum(numbers) for numbers in zip((0, 0), *map(counts, made), strict=True))
    parts = [f"{len(made)} figures", f"{held} claims hold", f"{failed} fail"]
    for word, what in (("left_out", "skipped"), ("error", "not made"), ("from_before", "kept")):
        if count := sum(bool(content.get(word)) for content in contents):
            parts.append(f"{count} {what}")
    return f"{', '.join(parts)} ({in_words(seconds)} in total)"
