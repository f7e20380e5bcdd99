"""Figures of the papers: each is data, a drawing of it, and claims about it that numbers decide."""

from __future__ import annotations

import importlib
import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tacit.errors import InputError
from tacit.keys import chosen, meant

T = TypeVar("T")
PAPERS = {
    "woodworth2020": "Woodworth et al. 2020, Kernel and Rich Regimes in Overparametrized Models",
    "moroshko2020": "Moroshko et al. 2020, Implicit Bias in Deep Linear Classification",
    "azulay2021": "Azulay et al. 2021, On the Implicit Bias of Initialization Shape",
    "min2021": "Min et al. 2021, On the Explicit Role of Initialization",
}
PRESETS = ("quick", "paper")


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, the number that decides it, and its threshold."""

    text: str
    measured: float
    at_most: float | None = None
    at_least: float | None = None

    @property
    def holds(self) -> bool:
        """Is the measured value on the right side of its threshold? (NaN and infinity never are.)"""
        above = self.at_least is None or self.measured >= self.at_least
        below = self.at_most is None or self.measured <= self.at_most
        return bool(above and below and math.isfinite(self.measured))

    @property
    def threshold(self) -> str:
        """The threshold in words."""
        parts = []
        if self.at_least is not None:
            parts.append(f"at least {self.at_least:.4g}")
        if self.at_most is not None:
            parts.append(f"at most {self.at_most:.4g}")
        return " and ".join(parts)

    def summary(self) -> str:
        """The verdict in a line."""
        return f"{'holds' if self.holds else 'FAILS'}  {self.text}: {self.measured:.4g} ({self.threshold})"

    def to_dict(self) -> dict[str, Any]:
        """Text, measured value, threshold and verdict."""
        return {
            "text": self.text,
            "measured": float(self.measured),
            "at_least": self.at_least,
            "at_most": self.at_most,
            "threshold": self.threshold,
            "verdict": "holds" if self.holds else "fails",
        }


@dataclass(frozen=True)
class Entry:
    """A figure in the registry, with its sizes.

    make: a class whose instances have `data(**parameters, seed, progress)`, which computes everything as a
    `xarray.Dataset`; `draw(data, ax)`, which draws it and computes nothing; and `claims(data)`, which yields
    what the paper says of it, with numbers. Its docstring is the caption.
    """

    key: str
    make: type[Any]
    presets: dict[str, dict[str, Any]]
    layout: dict[str, Any]

    @property
    def caption(self) -> str:
        """What the figure shows."""
        return " ".join((self.make.__doc__ or "").split())

    @property
    def title(self) -> str:
        """The first sentence of the caption, less the figure's number, which the key has."""
        sentence = re.split(r"\.(?: |$)", self.caption)[0]
        return re.sub(r" \(Figure [\w.]+\)$", "", sentence)

    def files(self, out: str | Path) -> dict[str, str]:
        """What is written into a folder: kind and path."""
        return {kind: f"{Path(out) / self.key}.{kind}" for kind in ("png", "pdf", "nc", "json")}


@dataclass(frozen=True, eq=False)
class Reproduction:
    """A figure that was made: its data, claims and files."""

    key: str
    caption: str
    preset: str
    seed: int
    parameters: dict[str, Any]
    claims: tuple[Claim, ...]
    files: dict[str, str]
    seconds: float
    data: Any

    @property
    def holds(self) -> bool:
        """Do all claims hold?"""
        return all(claim.holds for claim in self.claims)

    def summary(self) -> str:
        """The verdicts and where the picture is."""
        lines = [self.key, f"  {self.caption}"]
        lines += [f"  {claim.summary()}" for claim in self.claims]
        lines += [f"  {self.files['png']}  ({self.seconds:.1f} s)"]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """All but the data, ready for JSON."""
        return {
            "figure": self.key,
            "caption": self.caption,
            "preset": self.preset,
            "seed": self.seed,
            "parameters": self.parameters,
            "claims": [claim.to_dict() for claim in self.claims],
            "holds": self.holds,
            "files": self.files,
            "seconds": self.seconds,
        }


_FIGURES: dict[str, Entry] = {}


def figure(
    key: str, *, quick: dict[str, Any], paper: dict[str, Any], **layout: Any
) -> Callable[[type[T]], type[T]]:
    """Register a figure class under its key, with the sizes of its two presets and its layout."""

    def register(make: type[T]) -> type[T]:
        _FIGURES[key] = Entry(key, make, {"quick": quick, "paper": paper}, layout)
        return make

    return register


def figures(selection: str = "all") -> list[Entry]:
    """The figures of a selection: "all", a paper's key, or one figure's key."""
    for paper in PAPERS:
        importlib.import_module(f"tacit.papers.{paper}")
    keys = sorted(_FIGURES, key=_reading_order)
    found = keys if selection in ("all", "list") else chosen(keys, selection)
    if not found:
        raise InputError(
            f"no figure or paper {selection!r}; {meant(selection, keys)} 'tacit reproduce list' shows all"
        )
    return [_FIGURES[key] for key in found]


def _reading_order(key: str) -> tuple[int, list[tuple[int, str]]]:
    """By paper, then fig1a, fig1b, fig2, …, fig10."""
    paper, _, name = key.partition("/")
    parts = re.findall(r"(\d+)|([a-z]+)", name)
    return list(PAPERS).index(paper), [(int(number or 0), letters) for number, letters in parts]


def reproduce(
    entry: Entry,
    *,
    preset: str = "quick",
    seed: int = 0,
    out: str | Path = "tacit-output",
    progress: Any = None,
) -> Reproduction:
    """Compute a figure, draw it as PNG and PDF, save its data and the verdict on its claims."""
    import numpy as np

    from tacit.figures import render
    from tacit.outputs import MADE_BY, claim_all, json_file, make_folder, netcdf_file, write_together
    from tacit.progress import progress as bar

    if preset not in PRESETS:
        raise InputError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}")
    begun = time.perf_counter()
    files = entry.files(out)
    make_folder(Path(files["png"]).parent)
    claim_all((path, kind) for kind, path in files.items())
    shown = entry.make()
    parameters = entry.presets[preset]
    data = shown.data(**parameters, seed=seed, progress=progress or bar)
    data.attrs.update(figure=entry.key, preset=preset, seed=str(seed), made_by=MADE_BY)
    with np.errstate(divide="ignore", invalid="ignore"):  # what cannot be measured is NaN, and fails
        claims = tuple(shown.claims(data))
    pictures = render(lambda ax: shown.draw(data, ax), ["png", "pdf"], **entry.layout)
    result = Reproduction(
        entry.key,
        entry.caption,
        preset,
        seed,
        parameters,
        claims,
        files,
        time.perf_counter() - begun,
        data,
    )
    contents = (*pictures, netcdf_file(data), json_file(result.to_dict()))
    kinds = ("png", "pdf", "nc", "json")
    write_together((each, files[kind], kind) for each, kind in zip(contents, kinds, strict=True))
    return result
