"""Measure the numbers in README.md and docs/accuracy.md, record them, and write them into the pages.

    python benchmarks/readme.py               # measure (minutes), write record and pages: make readme
    python benchmarks/readme.py errors steps  # measure these (facts.py), on any machine
    python benchmarks/readme.py --written     # write the recorded numbers into the pages

A passage with such numbers is enclosed by <!-- numbers: name --> and <!-- end --> and is written from its
template below. Times in the output of code blocks are those of the fastest of several runs of the page.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "benchmarks")]

import facts  # noqa: E402
import limit  # noqa: E402
import pages  # noqa: E402

RECORD = Path(__file__).with_name("readme.json")
PASSAGES = {
    "README.md": {
        "good": "On Gaussian data with 20 samples and 100 features, at depths 2 to 10 and predictor scales "
        "from 1e4 to 1e-20, the relative\nerror of `tacit.limit` against 60-digit arithmetic is at "
        "most {worst}, and every limit reports an estimate of its own error.\nOn 100 × 1000 data a "
        "limit takes about {ms} ms; a conic program takes about {cones} times as long, and SciPy's "
        "LSODA on the\nweights about {lsoda} times.",
    },
    "docs/accuracy.md": {
        "worst": "On a Gaussian problem with 20 samples and 100 features the relative error of the limit, "
        "against 60-digit arithmetic, is\nat most {worst} and typically {often}, for depths 2, 3, 4 "
        "and 10 and predictor scales from 1e4 to 1e-20.",
        "near": "Samples or features that nearly coincide are handled in double-double arithmetic. On "
        "{near_problems} problems with rows or columns\nthat differ by 1e-4 to 1e-15, or not at all, "
        "{near_converged} limits are reported as converged. The largest relative error among\nthem is "
        "{near_worst} (against 110-digit arithmetic), and {near_flattering} has an error of more than "
        "ten times its reported `error`. Of the\nproblems whose data determine the limit to 1e-8, "
        "{near_share}% converge.",
        "steps": "The number of Newton steps depends little on the scale: on a 100 × 1000 problem it is "
        "{steps_kernel} at the predictor scale 1e4,\nand at most {steps_any} at all scales down to "
        "1e-300 and all of these depths.",
        "margins": "On {margins_points} points of maximum-margin paths (3 to 100 samples, 3 to 1000 "
        "features, $\\mu$ from 1e3 to 1e-12, depths\n2, 3 and 10) the largest residual of the optimality "
        "conditions is {margins_residual}.",
        "methods": "| method | time, relative | relative error |\n|---|---|---|\n"
        "| Tacit (about {ms} ms) | 1 | {tacit_error} |\n"
        "| L-BFGS on the dual | {dual} | {dual_error} |\n"
        "| conic program (cvxpy, Clarabel, tolerance 1e-12) | {cones} | {cones_error} |\n"
        "| gradient flow on the weights (LSODA, exact Jacobian) | {lsoda} | {lsoda_error} |\n"
        "| gradient descent | {descent} | {descent_error} |",
    },
}
CLOCKED = ("README.md", "docs/index.md", "docs/tutorial.md")  # pages whose code prints times
RUNS, ENOUGH = 30, 30.0  # largest number of runs of a page, and seconds after which no other is started
NAMES = {
    "Tacit": "tacit",
    "cvxpy + Clarabel": "cones",
    "L-BFGS, dual": "dual",
    "LSODA, weights": "lsoda",
    "gradient descent": "descent",
}
_PASSAGE = r"(<!-- numbers: {name} -->\n).*?(?=\n<!-- end -->)"
_CLOCK = re.compile(r"\b\d[\d.]* (?:ms|s)\b")


def words(record: Mapping[str, Any]) -> dict[str, str]:
    """The numbers as text: errors with one digit, times and ratios with two."""
    methods = record["methods"]
    found = {
        "worst": f"{_up(max(record['errors']))}",
        "often": f"{sorted(record['errors'])[len(record['errors']) // 2]:.0e}".replace("e-0", "e-"),
        "ms": _two(1e3 * methods["tacit"]["seconds"]),
    }
    for name, row in methods.items():
        found[name] = _two(row["seconds"] / methods["tacit"]["seconds"])
        found[f"{name}_error"] = f"{row['error']:.0e}".replace("e-0", "e-")
    return found | _facts(record)


def _facts(record: Mapping[str, Any]) -> dict[str, str]:
    """Numbers that are not times."""
    near = record["near"]
    return {
        "near_problems": f"{near['problems']:,}",
        "near_worst": _up(near["worst"]),
        "near_flattering": f"{near['flattering'] or 'none'}",
        "near_converged": f"{near['converged']:,}",
        "near_share": f"{100 * near['determined_converged'] / near['determined']:.1f}",
        "steps_kernel": f"{record['steps']['kernel']}",
        "steps_any": f"{record['steps']['any']}",
        "margins_points": f"{record['margins']['points']:,}",
        "margins_residual": _up(record["margins"]["residual"]),
    }


def _two(value: float) -> str:
    """Two significant digits, without an exponent where possible."""
    return f"{float(f'{value:.1e}'):g}"


def _up(value: float) -> str:
    """One significant digit, rounded up."""
    power = math.floor(math.log10(value))
    return f"{math.ceil(value / 10**power):g}e{power}"


def clocks(text: str) -> list[re.Match[str]]:
    """The times in the printed output of a page, in order."""
    outputs = [(block.span[0], block.span[1]) for block in pages.blocks(text) if block.output]
    return [each for begin, end in outputs for each in _CLOCK.finditer(text, begin, end)]


def written(page: str, text: str, record: Mapping[str, Any]) -> str:
    """The text of a page with the recorded numbers."""
    for name, template in PASSAGES.get(page, {}).items():
        passage = template.format(**words(record))
        pattern = re.compile(_PASSAGE.format(name=name), re.DOTALL)
        text, count = pattern.subn(lambda found: found[1] + passage, text)  # noqa: B023
        if count != 1:
            raise ValueError(f"{page} has {count} passages named {name}; there must be one")
    places, times = clocks(text), record["clocks"].get(page, [])
    if len(places) != len(times):
        raise ValueError(f"{page} prints {len(places)} times, but {len(times)} are recorded: run make readme")
    for place, clock in reversed(list(zip(places, times, strict=True))):
        text = text[: place.start()] + clock + text[place.end() :]
    return text


def clocked(page: str) -> list[str]:
    """The times printed by the code of a page, each the shortest of several runs."""
    runs: list[list[str]] = []
    begun = time.perf_counter()
    while len(runs) < RUNS and time.perf_counter() < begun + ENOUGH:
        printed = "\n".join(output for block, output in pages.run(page) if block.output is not None)
        runs.append(_CLOCK.findall(printed))
    return [min(each, key=_seconds) for each in zip(*runs, strict=True)]


def _seconds(clock: str) -> float:
    value, unit = clock.split()
    return float(value) / (1000 if unit == "ms" else 1)


def methods() -> dict[str, dict[str, float]]:
    """Seconds and errors on 100 × 1000 at α = 1e-3, as in `make bench`."""
    for solve in limit.METHODS.values():
        limit.timed(solve, *limit.gaussian_problem(5, 20), 1e-1, 30.0)  # imports are not timed
    rows = limit.compare(*limit.gaussian_problem(100, 1000), 1e-3, 60.0)
    missing = [row["note"] for row in rows if row["error"] is None]
    if missing:
        sys.exit(f"a method is missing ({missing[0]}): pip install -e '.[bench,dev]'")
    return {NAMES[row["method"]]: {key: row[key] for key in ("seconds", "error")} for row in rows}


PARTS = {
    "errors": facts.errors,
    "steps": facts.steps,
    "near": facts.near,
    "margins": facts.margins,
    "methods": methods,
    "clocks": lambda: {page: clocked(page) for page in CLOCKED},
}
TIMED = {"methods", "clocks"}


def main() -> None:
    """Measure (unless --written is given) and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"default: all of {', '.join(PARTS)}")
    parser.add_argument("--written", action="store_true", help="write the recorded numbers without measuring")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}")
    parts = [] if options.written else options.parts or list(PARTS)
    if TIMED & set(parts) and os.getloadavg()[0] > 0.5:
        print(
            "this machine is busy, so that times are too long: repeat the measurement on a quiet machine",
            file=sys.stderr,
        )
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    for part in parts:
        record[part] = PARTS[part]()
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for page in sorted({*PASSAGES, *CLOCKED}):
        path = ROOT / page
        path.write_text(written(page, path.read_text(encoding="utf-8"), record), encoding="utf-8")


if __name__ == "__main__":
    main()
