"""Regression problems whose samples or features nearly depend on each other, the same on every machine."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256

import numpy as np
from near_duplicates import Geometry

import tacit

GAPS = [*(10.0**-k for k in range(4, 16)), 0.0]  # relative differences; 0: equal
KINDS = ("pair", "several", "combination", "scaled", "opposite")
TARGETS = ("sparse", "dense", "exact", "arbitrary")
_Copy = tuple[
    int, list[tuple[int, float]]
]  # the index of a line, and the lines and coefficients of which it is a combination
# entries of X are multiples of it, so that differences of 2⁻⁵⁰ can be represented and Xw* is exact
_DYADIC = 2.0**-6


@dataclass(frozen=True)
class Problem:
    """X, y and a model; rows or columns (`axis`) coincide up to a relative difference `gap`."""

    X: np.ndarray
    y: np.ndarray
    geometry: Geometry
    axis: str  # "rows", "columns"
    kind: str
    gap: float
    target: str

    def model(self) -> tacit.Diagonal | tacit.UntiedDiagonal:
        g = self.geometry
        return tacit.Diagonal(g.depth, g.scale) if g.shape is None else tacit.UntiedDiagonal(g.scale, g.shape)

    def key(self) -> str:
        """A name that depends on all parameters of the problem."""
        return sha256(self.X.tobytes() + self.y.tobytes() + repr(self.geometry).encode()).hexdigest()[:24]


def problem(index: int, seed: int = 0) -> Problem:
    """The problem with this number: gaps and axes alternate, everything else is random."""
    rng = np.random.default_rng([seed, index])
    gap, axis = GAPS[index % len(GAPS)], ("rows", "columns")[index // len(GAPS) % 2]
    kind, target = rng.choice(KINDS), rng.choice(TARGETS, p=[0.35, 0.25, 0.3, 0.1])
    if gap == 0 and axis == "rows" and (target == "arbitrary" or kind == "combination"):
        target = "exact"  # targets of exactly dependent samples satisfy the same relation
    X, repeated = _data(rng, gap, axis, kind, dyadic=gap == 0 or target == "exact")
    y = _targets(rng, X, target, repeated if axis == "columns" else [])
    return Problem(X, y, _geometry(rng), axis, str(kind), gap, str(target))


def _geometry(rng: np.random.Generator) -> Geometry:
    depth, scale = rng.choice([2.0, 3.0, 4.0, 10.0, round(rng.uniform(2.1, 10), 2)]), 10 ** -rng.uniform(0, 6)
    shape = round(rng.uniform(-0.9, 0.9), 2) if rng.random() < 0.15 else None
    return Geometry(2.0 if shape is not None else float(depth), float(f"{scale:.3g}"), shape)


def _data(
    rng: np.random.Generator, gap: float, axis: str, kind: str, dyadic: bool
) -> tuple[np.ndarray, list[int]]:
    """Gaussian X in which some samples (features) are combinations of others up to `gap`, and the list of
    these."""
    samples = int(rng.integers(3, 9))
    X = rng.standard_normal((samples, int(rng.integers(max(8, samples + 4), 31))))
    X = np.clip(_rounded(X, _DYADIC), -2, 2) if dyadic else X
    lines = X if axis == "rows" else X.T
    order = rng.permutation(len(lines))
    copies = _copies(rng, kind, len(lines), rounded=not dyadic)
    for line, combined in copies:
        noise = rng.standard_normal(lines.shape[1])
        unit = 2.0 ** np.round(np.log2(gap)) if dyadic and gap else gap
        noise = np.clip(_rounded(noise, 1.0), -2, 2) if dyadic else noise
        size = max(abs(c) for _, c in combined)  # differences below the round-off of a large line vanish
        lines[order[line]] = sum(c * lines[order[i]] for i, c in combined) + size * unit * noise
    return X, [int(order[0]), *(int(order[line]) for line, _ in copies)]


def _copies(rng: np.random.Generator, kind: str, count: int, rounded: bool) -> list[_Copy]:
    """Lines that are combinations of others, with coefficients that are exact in floats unless `rounded`."""
    if kind == "several":
        return [(line, [(0, 1.0)]) for line in range(1, 4 if count > 4 else 3)]
    if kind == "combination":
        return [(2, [(0, 1.0), (1, rng.choice([-1.0, 0.7]) if rounded else -1.0)])]
    if kind == "scaled":
        return [(1, [(0, rng.choice([3.0, 0.3, 1e3, 1e-3] if rounded else [2.0, 0.25]))])]
    return [(1, [(0, -1.0 if kind == "opposite" else 1.0)])]


def _rounded(values: np.ndarray, unit: float) -> np.ndarray:
    return np.round(values / unit) * unit


def _targets(rng: np.random.Generator, X: np.ndarray, target: str, repeated: list[int]) -> np.ndarray:
    """Xw* correctly rounded, so that equal samples have equal targets; or random targets.

    In most cases w* uses some of the `repeated` features, with equal or different signs.
    """
    samples, features = X.shape
    if target == "arbitrary":
        return rng.standard_normal(samples)
    w = np.zeros(features)
    nonzero = rng.permutation(features)[: features if target == "dense" else int(rng.integers(1, 4))]
    if target != "dense" and rng.random() < 0.8:
        nonzero = np.union1d(nonzero, repeated[: int(rng.integers(1, 3))]).astype(int)
    w[nonzero] = (
        rng.standard_normal(len(nonzero)) if target != "exact" else rng.choice([-1.0, 1.0], len(nonzero))
    )
    return product(X, w)


def product(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Xw correctly rounded."""
    used = np.flatnonzero(w).tolist()
    return np.array([float(sum(Fraction(row[j]) * Fraction(w[j]) for j in used)) for row in X.tolist()])


def spectra(
    seed: int, samples: int = 60, channels: int = 100, ripple: float = 0.3
) -> tuple[np.ndarray, np.ndarray]:
    """Smooth spectra with five decimals, as printed by an instrument; two samples occur twice.

    Neighbouring channels are almost equal; singular values fall geometrically from 400 to the noise, 1e-4,
    or, without ripple, after six bands to the last decimal. The target is the amount of one band.
    """
    rng = np.random.default_rng([seed, samples, channels])
    place, order = np.linspace(0, 1, channels), np.arange(1, 40)
    centres, widths = rng.uniform(0, 1, 6), rng.uniform(0.15, 0.5, 6)
    amounts = rng.gamma(2.0, 0.5, (samples, 6, 1))
    bands = np.exp(-(((place - centres[:, None]) / widths[:, None]) ** 2))
    waves = rng.standard_normal((samples, len(order), 1)) * np.cos(np.pi * order[:, None] * place)
    noise = 1e-4 * rng.standard_normal((samples, channels))
    X = 2 + (amounts * bands).sum(axis=1) + ripple * ((0.7 ** order[:, None] * waves).sum(axis=1) + noise)
    X, y = np.round(X, 5), np.round(20 * amounts[:, 0, 0] + rng.standard_normal(samples), 1)
    X[:2], y[:2] = X[-2:], y[-2:]
    return X, y
