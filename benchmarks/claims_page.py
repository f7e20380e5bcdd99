"""The record of claims over seeds, and the page docs/claims.md that shows it, for `claims.py --write`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from claims import RECORD, ROOT, chance, told

from tacit.papers import figures

PAGE = ROOT / "docs" / "claims.md"
HEAD = """# Claims on any seed

`tacit reproduce` decides every claim of a figure by a number and its threshold. Most figures draw data, or
starts of networks: would the claim hold of other draws, too? Below is every claim at its quick size, with
the worst of its values over many seeds and the chance that it fails at another seed. It is to be at most 1
in 1,000.

Fifty draws cannot show that by counting. What they show is how far the worst of them stay from the
threshold t, in units of how far these spread: with u the (k+1)-th worst of n values and S = Σ(x_i − u) over
the k = 10 worst,

    P = (k+1)/(n+1) · (1 + (t − u)/S)^(−k).

The first factor is the chance of being beyond u, for any distribution; the second is the chance that an
exponential tail exceeds t, averaged over what k values leave unknown of its scale. That is exact for
exponential tails, too large for lighter ones, and itself a power law, which heavier ones do not fool much:
where it says 1 in 1,000, a normal variable fails 0.16 times in 1,000, an exponential one 1.0 times,
Student's t with five degrees of freedom 1.4 times. Positive values with a positive threshold vary by
factors: of these, logarithms are taken. A share of cases is counted instead, by the beta-binomial
distribution with Jeffreys' prior. `benchmarks/failure_rate.py` has the formulas;
`tests/papers/test_failure_rate.py` checks them on known distributions.

Where "—" stands for the chance, the value does not depend on the seed. Thresholds without a reason are
those of the sentence itself, or an order of magnitude or more above what solvers and integrators promise.
Figures 6d and 8 of Woodworth et al. need CIFAR-10, and are not among these.

Some thresholds were chosen with values at some seeds in view, and would hold there in any case. Seeds that
were computed after a figure and its thresholds had got to be what they are, are called fresh. {fresh}
Five figures were changed because claims that they had before failed, or came too near, at seeds of this list
(Woodworth's 3c, 6c and commuting measurements, Moroshko's open question, Azulay's neurons): of these some
fresh seeds had been seen with the claims that were replaced.

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
    return f"There {len(claims)} claims\nwere tried {tried:,} times in all. " + (
        f"Of these claims {len(failed)} failed." if failed else "None failed."
    )


def _section(key: str, figure: dict[str, Any]) -> Iterator[str]:
    fresh = f"{figure['seeds']} seeds, {figure['seeds'] - figure['seen']} of them fresh"
    yield f"## {key}: {'does not depend on the seed' if figure['fixed'] else fresh}\n"
    yield "| claim | threshold | its reason | worst | chance of failure |"
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
