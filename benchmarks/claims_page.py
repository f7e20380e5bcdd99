"""The record of claims over seeds, and the page docs/claims.md that shows it, for `claims.py --write`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from claims import RECORD, ROOT, chance, told

from tacit.papers import figures

PAGE = ROOT / "docs" / "claims.md"
HEAD = """# Claims on any seed

`tacit reproduce` tests every claim about a figure by comparing a measured number with a threshold. Most
figures use random data or random initial weights: do their claims hold for other draws, too? The tables
list every claim at the size of the quick preset, with its worst value over many seeds and the estimated
probability that it fails at another seed. This probability must be at most 1 in 1,000.

Counting failures among fifty draws cannot show this. The estimate uses how far the worst values are from the
threshold $t$, relative to their spread. With the $(k+1)$-th worst value $u$ of $n$ and $S = \\sum_i (x_i -
u)$ over the $k = 10$ worst values,

$$
P = \\frac{{k+1}}{{n+1}} \\left(1 + \\frac{{t-u}}{{S}}\\right)^{{-k}} .
$$

The first factor is the probability of exceeding $u$, for any distribution. The second is the probability
that an exponential tail exceeds $t$, averaged over the uncertainty of its scale. It is exact for exponential
tails, too large for lighter ones, and, being a power law, hardly too small for heavier ones: thresholds for
which it is 1 in 1,000 are exceeded by 0.16 in 1,000 normal variables, 1.0 exponential variables, and 1.4
variables with Student's t distribution with five degrees of freedom. For positive values with a positive
threshold, logarithms are used. Fractions of cases are counted, with the beta-binomial distribution and
Jeffreys' prior. `benchmarks/failure_rate.py` contains the formulas; `tests/papers/test_failure_rate.py` tests
them on known distributions.

A dash instead of the probability means that the value does not depend on the seed. Thresholds without a
reason follow from the claim itself, or are at least an order of magnitude above the tolerances of solvers
and integrators. Figures 6d and 8 of Woodworth et al. need CIFAR-10 and are not included.

Some thresholds were chosen when the values at some seeds were known, and would hold at these seeds in any
case. Seeds that were computed after a figure and its thresholds had their present form are called fresh.
{fresh} Five figures were changed because their previous claims failed, or nearly failed, at seeds of this
list (Woodworth's 3c, 6c and commuting measurements, Moroshko's open question, Azulay's neurons). Some of
their fresh seeds had been seen with the claims that were replaced.

`python benchmarks/claims.py --write` writes this page.
"""


def write(record: dict[str, Any]) -> None:
    """Write both files."""
    order = [entry.key for entry in figures() if entry.key in record]
    ordered = {key: record[key] for key in order}
    rows = ",\n".join(f"{json.dumps(key)}: {_compact(figure)}" for key, figure in ordered.items())
    RECORD.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")
    PAGE.write_text(page(ordered), encoding="utf-8")


def _compact(figure: dict[str, Any]) -> str:
    """JSON with one line for each claim, for readable diffs."""
    head = json.dumps({name: value for name, value in figure.items() if name != "claims"})[:-1]
    claims = ",\n  ".join(json.dumps(claim, ensure_ascii=False) for claim in figure["claims"])
    return f'{head}, "claims": [\n  {claims}]}}'


def page(record: dict[str, Any]) -> str:
    """The text of docs/claims.md."""
    head = HEAD.format(fresh=_fresh(record))
    return head + "".join("\n" + "\n".join(_section(key, figure)) + "\n" for key, figure in record.items())


def _fresh(record: dict[str, Any]) -> str:
    """The results of claims at seeds that were computed after the claims were written."""
    random = [figure for figure in record.values() if not figure["fixed"]]
    claims = [(figure, claim) for figure in random for claim in figure["claims"]]
    fresh = [{**claim, "values": claim["values"][figure["seen"] :]} for figure, claim in claims]
    failed = [claim for claim in fresh if claim["values"] and not told(claim).holds]
    tried = sum(len(claim["values"]) for claim in fresh)
    return f"At these, {len(claims)} claims were tested {tried:,} times. " + (
        f"{len(failed)} of the claims failed." if failed else "None failed."
    )


def _section(key: str, figure: dict[str, Any]) -> Iterator[str]:
    fresh = f"{figure['seeds']} seeds, {figure['seeds'] - figure['seen']} of them fresh"
    yield f"## {key}: {'does not depend on the seed' if figure['fixed'] else fresh}\n"
    yield "| claim | threshold | reason | worst value | probability of failure |"
    yield "| --- | --- | --- | --- | --- |"
    for kept in figure["claims"]:
        worst = told(kept)
        odds = (
            "—"
            if figure["fixed"] or (len(set(kept["values"])) == 1 and not kept.get("of"))
            else said(chance(kept))
        )
        text = worst.text.replace("|", "\\|")
        yield f"| {text} | {worst.threshold} | {worst.why} | {worst.measured:.4g} | {odds} |"


def said(chance: float) -> str:
    """A probability as text."""
    return "under 1 in a million" if chance < 1e-6 else f"1 in {float(f'{1 / chance:.2g}'):,.0f}"
