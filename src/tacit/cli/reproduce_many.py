"""Many figures of the papers: those that are missing, by several processes, and a table of all."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.cli.options import whole_number
from tacit.cli.terminal import in_words, remark, shortened, wrapped

if TYPE_CHECKING:
    from tacit.papers import Entry
    from tacit.show.output_files import Output

_Content = dict[str, Any]
_LEAST = 16  # columns for the reason why a figure is left out


def add_jobs(command: Any) -> None:
    """--jobs."""
    command.add_argument(
        "--jobs",
        type=whole_number(1),
        metavar="N",
        help="how many figures to make at once, each in a process of its own (default: one for each core)",
    )


@dataclass(frozen=True)
class How:
    """How figures are made.

    force: also where the folder has them. jobs: at once; None for one on each core. quiet: nothing on
    standard output.
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
        """What is asked of every figure."""
        return {"preset": self.preset, "seed": self.seed, "out": self.out, "force": self.force}


def those_of(chosen: Sequence[Entry], found: Callable[[Entry], _Content | None]) -> dict[str, _Content]:
    """What is found of figures, of which not all may be there."""
    return {entry.key: content for entry in chosen if (content := found(entry)) is not None}


def claim_files(missing: Sequence[Entry], how: How, others: Sequence[Output] = ()) -> None:
    """Everything that could keep figures from being written, said before they are computed."""
    from tacit.show.output_files import claim_all, make_folder

    for folder in {os.path.dirname(os.path.join(how.out, entry.key)) for entry in missing}:
        make_folder(folder)
    files = [entry.outputs(**how.asked) for entry in missing]
    claim_all([*(output for each in files for output in each.values()), *others])


def make(chosen: Sequence[Entry], how: How, before: Mapping[str, _Content]) -> list[_Content]:
    """What is known of every figure, in their order; those that are not among the ones before are made first.

    Each has "from_before", or says in "left_out" or "error" why it was not made.
    """
    missing = [entry for entry in chosen if entry.key not in before]
    known = {key: {**content, "from_before": True} for key, content in before.items()}
    for answer in _made(missing, how):
        known[answer["key"]] = _told(answer, how)
    return [known[entry.key] for entry in chosen]


def _made(missing: Sequence[Entry], how: How) -> Iterator[dict[str, Any]]:
    """Answers as they come, with a line on standard error about those in work."""
    from tacit.papers import workers
    from tacit.papers.completed import kept
    from tacit.show.progress import Line

    jobs = min(how.jobs or _cores(), len(missing))
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
            line.show(f"{done} of {len(missing)} figures are made; in work: {', '.join(busy)}")


def _cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _told(answer: dict[str, Any], how: How) -> _Content:
    """The content of an answer, once a person has read what there is to say of it."""
    if said := answer.get("said"):
        print(said, end="", file=sys.stderr)
    key = answer["key"]
    if "left_out" in answer:
        remark(f"{key} is left out: {answer['left_out']}")
        return {"figure": key, "left_out": answer["left_out"]}
    if "error" in answer:
        remark(f"{key} was not made: {answer['error']}")
        if how.debug:
            print(answer.get("trace", ""), file=sys.stderr)
        return {"figure": key, "error": answer["error"], "holds": False}
    if not how.quiet:
        verdicts, _, picture = answer["summary"].rpartition("\n")  # a path is not folded
        print(f"{wrapped(verdicts)}\n{picture}", flush=True)
    return {**answer["content"], "from_before": False}


def table(contents: Sequence[_Content]) -> str:
    """A line for each figure: claims that hold and fail, seconds, and whether it is new."""
    from tacit.cli.terminal import columns

    width = max(len(content["figure"]) for content in contents)
    lines = [f"{'figure':<{width}}  hold  fail  seconds"]
    for content in contents:
        name = f"{content['figure']:<{width}}"
        if "claims" in content:
            held, failed = counts(content)
            words = "from before" if content["from_before"] else "new"
            numbers = f"{held:>4}  {failed or '-':>4}  {content['seconds']:>7.1f}"
            lines.append(f"{name}  {numbers}  {words}{'  FAILS' if failed else ''}")
        else:
            words = "left out: " + content["left_out"] if "left_out" in content else content["error"]
            word = "NOT MADE: " if "error" in content else ""
            lines.append(f"{name}  {shortened(word + words, max(_LEAST, columns() - width - 2))}")
    return "\n".join(lines)


def counts(content: _Content) -> tuple[int, int]:
    """Claims that hold, and claims that fail."""
    held = sum(claim["verdict"] == "holds" for claim in content["claims"])
    return held, len(content["claims"]) - held


def total(contents: Sequence[_Content], seconds: float) -> str:
    """The table in a sentence."""
    made = [content for content in contents if "claims" in content]
    held, failed = (sum(numbers) for numbers in zip((0, 0), *map(counts, made), strict=True))
    parts = [f"{len(made)} figures", f"{held} claims hold", f"{failed} fail"]
    for word, what in (("left_out", "left out"), ("error", "not made"), ("from_before", "from before")):
        if count := sum(bool(content.get(word)) for content in contents):
            parts.append(f"{count} {what}")
    return f"{', '.join(parts)} ({in_words(seconds)} in all)"
