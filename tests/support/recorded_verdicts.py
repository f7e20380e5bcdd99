"""Recorded numbers of the verdicts of all theorems on small fixed cases.

    python tests/support/recorded_verdicts.py          compare with the record
    python tests/support/recorded_verdicts.py --write  update the record after a change of a formula

The tests of each theorem compare its numbers with something independent of the code, on few problems. This
record adds regression tests: it contains every measured value and every bound of all verdicts on a dozen
cases, so that any change of a formula is detected.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tacit

RECORD = Path(__file__).parents[1] / "papers" / "verdicts.json"
# A balanced start is unique up to a rotation of its hidden units, which depends on the BLAS kernel.
GAUGE_DEPENDENT = {("balanced", "min2021/lemmaB.3")}
Case = tuple[Any, np.ndarray, np.ndarray]


def _regression(samples: int = 3, features: int = 7, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features))
    return X, X[:, :2] @ np.array([1.0, -0.5])


def _classes(samples: int = 4, features: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features))
    return X, np.where(X[:, 0] + 0.5 * X[:, 1] > 0, 1.0, -1.0)


def _matrices() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 3, 3))
    return X, np.einsum("nij,ij->n", X, np.outer([1.0, 2.0, 0.5], [1.0, -1.0, 0.5]))


def cases() -> dict[str, Callable[[], Case]]:
    """The cases by name."""
    X, y = _regression()
    labelled = _classes()
    start = np.random.default_rng(1).uniform(0.2, 1.0, (4, X.shape[1]))
    direction = np.linspace(-1.0, 1.0, X.shape[1])
    theta = 0.1 * np.linspace(-1.0, 1.0, X.shape[1])[:, None]
    return {
        "depth 2": lambda: (tacit.Diagonal(2, 0.1), X, y),
        "depth 3": lambda: (tacit.Diagonal(3, 0.3), X, y),
        "profile": lambda: (tacit.Diagonal(2, 1.0, profile=np.linspace(0.5, 2, X.shape[1])), X, y),
        "untied": lambda: (tacit.UntiedDiagonal(0.3, 0.5), X, y),
        "biased": lambda: (tacit.UntiedDiagonal.from_weights(*start), X, y),
        "neuron": lambda: (tacit.Neuron.from_scale(0.5, 0.3, direction), X, y),
        "leaky neuron": lambda: (tacit.Neuron.from_scale(0.5, 0.3, direction, slope=0.5), X, y),
        "wide": lambda: (tacit.LinearNetwork.gaussian(X.shape[1], 30, seed=1), X, y),
        "balanced": lambda: (tacit.LinearNetwork.balanced(theta, X, 20), X, y),
        "orthogonal": lambda: (tacit.LinearNetwork.orthogonal(X, 20), X, y),
        "matrices": lambda: (tacit.Factorization.gaussian((3, 3), 4, 0.3, seed=1), *_matrices()),
        "classes 2": lambda: (tacit.Diagonal(2, 0.3), *labelled),
        "classes 3": lambda: (tacit.Diagonal(3, 0.5), *labelled),
        "classes 2 wide": lambda: (tacit.Diagonal(2, 3.0), *_classes(2, 5, 3)),
    }


def numbers(case: Case) -> dict[str, list[list[float | None]]]:
    """Measured value, lower and upper bound of every inequality, by the key of its theorem."""
    found = tacit.check(*case)
    return {
        verdict.key: [
            [_plain(each) for each in (bound.measured, bound.at_least, bound.at_most)]
            for bound in verdict.bounds
        ]
        for verdict in sorted(found, key=lambda each: each.key)
    }


def _plain(value: float | None) -> float | None:
    return float(f"{value:.7g}") if value is not None and math.isfinite(value) else None


def differences(name: str, found: dict[str, Any], kept: dict[str, Any]) -> list[str]:
    """Differences from the record, as text; values may differ by round-off and by integration error.

    Both are below 1e-4 of a value, or of its bound if the value itself is an error.
    """
    if set(found) != set(kept):
        return [f"{name}: {sorted(set(found) ^ set(kept))} apply in one case only"]
    lines = []
    for key, rows in found.items():
        if (name, key) in GAUGE_DEPENDENT:
            continue
        if len(rows) != len(kept[key]):
            lines.append(f"{name}, {key}: {len(rows)} bounds, {len(kept[key])} recorded")
            continue
        for place, (row, old) in enumerate(zip(rows, kept[key], strict=True)):
            size = max((abs(each) for each in old[1:] if each is not None), default=0.0)
            for now, before in zip(row, old, strict=True):
                same = now is before or (
                    now is not None
                    and before is not None
                    and math.isclose(now, before, rel_tol=1e-4, abs_tol=1e-3 * size)
                )
                if not same:
                    lines.append(f"{name}, {key}, bound {place}: {row}, recorded {old}")
                    break
    return lines


def _text(rows: dict[str, Any]) -> str:
    """JSON with a line for each theorem."""
    blocks = [
        f'"{name}": {{\n' + ",\n".join(f'  "{key}": {json.dumps(each)}' for key, each in row.items()) + "\n}"
        for name, row in rows.items()
    ]
    return "{" + ",\n".join(blocks) + "}\n"


def main() -> int:
    """Record, or compare with the record."""
    if "--write" in sys.argv:
        RECORD.write_text(_text({name: numbers(make()) for name, make in cases().items()}), encoding="utf-8")
        return 0
    kept = json.loads(RECORD.read_text(encoding="utf-8"))
    found = ((name, numbers(make())) for name, make in cases().items())
    lines = [line for name, row in found for line in differences(name, row, kept[name])]
    print("\n".join(lines) or "as recorded")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
