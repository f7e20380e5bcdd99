r"""Claims of the figures over many seeds: how often each fails, and how near its threshold it comes.

A claim that holds at one seed says little: here every figure is computed at many, and every claim gets a line
with the number of seeds at which it failed and the worst value measured. Figures that do not depend on the
seed are computed twice, to see that, and no more.

    python benchmarks/claims.py --seeds 30                    all figures, quick presets
    python benchmarks/claims.py woodworth2020/fig1c --seeds 100
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tacit.papers import Claim, Entry, figures

UNSEEN = (90125, 424242)  # seeds that nothing was made on
Run = list[Claim]


def seeds(count: int) -> list[int]:
    """The first is the default, then the unseen ones, then 1, 2, 3, …"""
    return [0, *UNSEEN, *range(1, count)][:count]


def quiet(items: Iterable[Any], *args: Any, **kwargs: Any) -> Iterable[Any]:
    """No progress bar."""
    return items


def claims_at(entry: Entry, preset: str, seed: int) -> tuple[Any, Run]:
    """The data of a figure at a seed, and its claims; nothing is drawn."""
    shown = entry.make()
    data = shown.data(**entry.presets[preset], seed=seed, progress=quiet)
    with np.errstate(divide="ignore", invalid="ignore"):
        return data, list(shown.claims(data))


def runs(entry: Entry, preset: str, chosen: list[int]) -> dict[int, Run]:
    """The claims at every seed; only at two where these give the same data."""
    made = {}
    for seed in chosen:
        data, made[seed] = claims_at(entry, preset, seed)
        if len(made) == 1:
            first = data
        elif len(made) == 2 and data.drop_attrs().identical(first.drop_attrs()):
            break
    return made


def room(claim: Claim) -> float:
    """How far inside its threshold a value lies, as a share of it; −∞ where nothing was measured."""
    sides = []
    if claim.at_most is not None:
        sides.append((claim.at_most - claim.measured) / (abs(claim.at_most) or 1.0))
    if claim.at_least is not None:
        sides.append((claim.measured - claim.at_least) / (abs(claim.at_least) or 1.0))
    return min(sides) if math.isfinite(claim.measured) else -math.inf


def rows(made: dict[int, Run]) -> Iterator[dict[str, Any]]:
    """One per claim: failures, and the value that is the worst."""
    for same in zip(*made.values(), strict=True):
        by_room = sorted(zip(same, made, strict=True), key=lambda pair: room(pair[0]))
        worst, seed = by_room[0]
        yield {
            "claim": worst.text,
            "threshold": worst.threshold,
            "seeds": len(same),
            "failures": [at for claim, at in by_room if not claim.holds],
            "worst": float(worst.measured),
            "worst_seed": seed,
            "median": float(np.median([claim.measured for claim in same])),
            "room": room(worst),
        }


def main() -> int:
    """Print the table; exit status 1 if a claim failed at any seed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("selection", nargs="*", default=["all"], help="figures or papers (default: all)")
    parser.add_argument("--seeds", type=int, default=30, help="how many (default: %(default)s)")
    parser.add_argument("--preset", choices=("quick", "paper"), default="quick")
    parser.add_argument("--json", type=Path, help="the table as a file")
    options = parser.parse_args()
    table, failed = {}, 0
    for entry in (entry for selection in options.selection for entry in figures(selection)):
        begun = time.perf_counter()
        found = list(rows(runs(entry, options.preset, seeds(options.seeds))))
        table[entry.key] = found
        count = found[0]["seeds"] if found else 0
        print(f"{entry.key}  ({count} seeds, {time.perf_counter() - begun:.0f} s)")
        for row in found:
            failed += bool(row["failures"])
            print(
                f"  {len(row['failures']):2d}/{row['seeds']}  worst {row['worst']:<10.4g} "
                f"(seed {row['worst_seed']}), median {row['median']:<10.4g} "
                f"{row['threshold']}: {row['claim']}",
                flush=True,
            )
        if options.json:
            options.json.write_text(json.dumps(table, indent=1) + "\n")
    print(f"{failed} claims fail at one seed or more")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
