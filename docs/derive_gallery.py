"""Make docs/derive-gallery.md: the result of tacit.derive for every parametrization, with measured numbers.

python docs/derive_gallery.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import tacit

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from maps import GALLERY

HEAD = """# A gallery of parametrizations

This page shows the result of `tacit.derive` for 22 parametrizations $\\theta \\mapsto w$, each at one
initialization: the verdict with its reason, the dimension that gradient flow can reach, and the number of
{term}`conserved quantities <conserved quantity>`. If there is a {term}`potential` $Q$, the last column shows
how well the end of a simulated flow on two samples satisfies the optimality conditions of $Q$ (the
{term}`stationarity` reported by `tacit.certify`). [Your own parametrization](howto/parametrization.md)
explains the verdicts.

`python docs/derive_gallery.py` measures the numbers and writes this page;
`tests/derivation/test_gallery.py` checks the same results.

| parametrization | weights → features | verdict | dimension reached | conserved | stationarity |
|---|---|---|---|---|---|
"""


def _row(name: str, found: Any, residual: float | None) -> str:
    reach = f"{found.reachable_dimension} of {found.parameters}"
    certified = "" if residual is None else f"{residual:.0e}"
    link = name.lower().translate({ord(each): None for each in ",–×"}).replace(" ", "-")
    columns = (f"[{name}](#{link})", f"{found.parameters} → {found.features}", found.kind, reach)
    return f"| {' | '.join(columns)} | {_conserved(found)} | {certified} |"


def _conserved(found: Any) -> str:
    """The number of conserved quantities of flows near the start, and of flows from it if that is larger."""
    here = (
        f" ({found.conserved_here} from this start)" if found.conserved_here > found.conserved_number else ""
    )
    return f"{found.conserved_number}{here}"


def _section(name: str, entry: Any, found: Any, residual: float | None) -> str:
    laws = ", ".join(f"`{law.text}`" for law in found.conserved[:4]) + (
        " …" if len(found.conserved) > 4 else ""
    )
    count = f"Conserved quantities: {_conserved(found)}" + (f", of degree at most 2: {laws}" if laws else "")
    minimum = f" The simulated flow ends at the minimum of Q (stationarity {residual or 0:.0e})."
    end = "" if residual is None else minimum
    return f"## {name}\n\n```python\n{entry.code}\n```\n\n**{found.kind}.** {found.reason}{end} {count}.\n"


def certified(found: Any, seed: int = 0) -> float | None:
    """The stationarity at the end of a flow on at most two random samples; None without a potential."""
    if found.kind not in ("mirror", "warped"):
        return None
    rng, origin = np.random.default_rng(seed), found.potential.origin
    d = len(origin)
    X = rng.standard_normal((min(2, d - 1), d))
    y = X @ (origin + 0.3 * (np.linalg.norm(origin) or 1.0) * rng.standard_normal(d) / d)
    model = tacit.model(found.function_model.function, found.function_model.theta0)
    flow = tacit.flow(model, X, y, rtol=1e-11, until=45)
    certificate = tacit.certify(found.potential, X, y, flow.predictor[-1])
    if not certificate.holds:
        raise RuntimeError(f"{found!r}: {certificate.summary()}")
    return float(certificate.stationarity)


def main() -> None:
    """Write the page."""
    rows, sections = [], []
    for name, entry in GALLERY.items():
        found = tacit.derive(entry.function, entry.start)
        residual = certified(found)
        if (found.kind, found.reachable_dimension) != (entry.kind, entry.dimension):
            print(f"UNEXPECTED {name}: {found.kind}, {found.reachable_dimension}")
        rows.append(_row(name, found, residual))
        sections.append(_section(name, entry, found, residual))
        print(rows[-1], flush=True)
    page = HEAD + "\n".join(rows) + "\n\n" + "\n".join(sections)
    (Path(__file__).parent / "derive-gallery.md").write_text(page)


if __name__ == "__main__":
    main()
