"""Figures of the papers: each is data, a drawing of it, and claims about it that numbers decide."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tacit.errors import InputError
from tacit.papers import catalogue
from tacit.papers.catalogue import Catalogue, meant
from tacit.results.claims import Claim

if TYPE_CHECKING:
    from tacit.show.output_files import Output

T = TypeVar("T")
Progress = Callable[
    ..., Any
]  # items and a word for them: an iterator over the items that tells how far it is
PRESETS = ("quick", "paper")
_INSTEAD = "--force (in Python force=True) replaces it, another folder (--out) keeps both"


@dataclass(frozen=True)
class Entry:
    """A figure in the registry, with its sizes.

    Attributes
    ----------
    key : str
        Its name, "paper/figure".
    make : type
        A class whose instances have `data(**parameters, seed, progress)`, which computes everything as a
        `xarray.Dataset`; `draw(data, ax)`, which draws it and computes nothing; and `claims(data)`, which
        yields what the paper says of it, with numbers. Its docstring is the caption.
    presets : dict
        The parameters of each, by name.
    layout : dict
        Of the picture, such as its size and panels.
    about : tuple of str
        Items of the paper that it is about, besides the one that its key is named after.
    seconds : float
        How long the quick preset takes on one core, roughly: those that take longer begin first.
    short : str
        A few words for the gallery, which has the figures that have them.
    """

    key: str
    make: type[Any]
    presets: dict[str, dict[str, Any]]
    layout: dict[str, Any]
    about: tuple[str, ...] = ()
    seconds: float = 2.0
    short: str = ""

    @property
    def caption(self) -> str:
        """What the figure shows."""
        return " ".join((self.make.__doc__ or "").split())

    @property
    def title(self) -> str:
        """The first sentence of the caption, less the figure's number, which the key has."""
        sentence = re.split(r"\.(?: |$)", self.caption)[0]
        return re.sub(r" \(Figure [\w.]+\)$", "", sentence)

    @property
    def says(self) -> str:
        """What an item says that it stands for."""
        return self.title

    def command(self, preset: str, seed: int) -> str:
        """What makes it.

        Parameters
        ----------
        preset : "quick" | "paper"
            Its sizes.
        seed : int
            Of what is drawn at random.

        Returns
        -------
        str
            What to type after `tacit`.
        """
        return f"reproduce {self.key} --preset {preset} --seed {seed}"

    def files(self, out: str | Path) -> dict[str, str]:
        """What is written into a folder.

        Parameters
        ----------
        out : path
            The folder.

        Returns
        -------
        dict of str
            Path by kind.
        """
        return {kind: f"{Path(out) / self.key}.{kind}" for kind in ("png", "pdf", "nc", "json")}

    def outputs(self, preset: str, seed: int, out: str | Path, force: bool = False) -> dict[str, Output]:
        """What a preset and a seed write into a folder; files of others are in the way, unless by force.

        Parameters
        ----------
        preset : "quick" | "paper"
            Its sizes.
        seed : int
            Of what is drawn at random.
        out : path
            The folder.
        force : bool, optional
            Replace files of another preset or seed.

        Returns
        -------
        dict
            Files to be claimed and written, by kind.
        """
        from tacit.show.output_files import Output

        by, files = self.command(preset, seed), self.files(out)
        return {kind: Output(path, kind, by, force, _INSTEAD) for kind, path in files.items()}


@dataclass(frozen=True, eq=False)
class Reproduction:
    """A figure that was made: its data, claims and files.

    Attributes
    ----------
    key : str
        Its name, "paper/figure".
    caption : str
        What it shows.
    preset : str
        The name of the sizes.
    seed : int
        Of what was drawn.
    parameters : dict
        The sizes.
    claims : tuple of Claim
        With their numbers.
    files : dict of str
        What was written, path by kind.
    seconds : float
        How long it took.
    data : xarray.Dataset
        All that was computed.
    made_with : dict of str
        Versions of Tacit and of what it stands on.
    """

    key: str
    caption: str
    preset: str
    seed: int
    parameters: dict[str, Any]
    claims: tuple[Claim, ...]
    files: dict[str, str]
    seconds: float
    data: Any
    made_with: dict[str, str]

    @property
    def holds(self) -> bool:
        """Do all claims hold?"""
        return all(claim.holds for claim in self.claims)

    def summary(self) -> str:
        """The verdicts and where the picture is."""
        return in_words(self.to_dict())

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
            "made_with": self.made_with,
        }


def in_words(content: Mapping[str, Any]) -> str:
    """The verdicts and where the picture is, of what the JSON of a figure has."""
    lines = [content["figure"], f"  {content['caption']}"]
    for each in content["claims"]:
        measured = math.nan if each["measured"] is None else each["measured"]
        lines.append(f"  {Claim(each['text'], measured, each['at_most'], each['at_least']).summary()}")
    return "\n".join([*lines, f"  {content['files']['png']}  ({content['seconds']:.1f} s)"])


_FIGURES = Catalogue[Entry]("figure")


def figure(
    key: str,
    *,
    quick: dict[str, Any],
    paper: dict[str, Any],
    about: tuple[str, ...] = (),
    seconds: float = 2.0,
    short: str = "",
    **layout: Any,
) -> Callable[[type[T]], type[T]]:
    """Register a figure class under its key.

    Parameters
    ----------
    key : str
        "paper/figure".
    quick, paper : dict
        The parameters of `data` in each preset.
    about : tuple of str, optional
        Items of the paper that it is about, besides the one that its key is named after: "Theorem 2".
    seconds : float, optional
        How long the quick preset takes on one core, roughly.
    short : str, optional
        A few words for the gallery; without them it is not there.
    **layout
        Of the picture, such as its size and panels.

    Returns
    -------
    callable
        A decorator of classes, see `papers.Entry`.
    """

    def register(make: type[T]) -> type[T]:
        entry = Entry(key, make, {"quick": quick, "paper": paper}, layout, about, seconds, short)
        _FIGURES.register(key, entry, make.__module__)
        return make

    return register


def figures(selection: str = "all") -> list[Entry]:
    """The figures of a selection; only these are imported.

    Parameters
    ----------
    selection : str, optional
        "all", a paper's key, or one figure's key.

    Returns
    -------
    list of Entry
        In the order of the papers.

    Raises
    ------
    InputError
        Where there is no such figure.
    """
    everything = selection in ("all", "list")
    found = [_FIGURES[key] for key in _FIGURES.known()] if everything else _FIGURES.selected(selection)
    if not found:
        near = meant(selection, sorted(_FIGURES.known(), key=_reading_order))
        raise InputError(f"no figure or paper {selection!r}; {near} 'tacit reproduce list' shows all")
    return sorted(found, key=lambda each: _reading_order(each.key))


def _reading_order(key: str) -> tuple[int, list[tuple[int, str]]]:
    """By paper, then fig1a, fig1b, fig2, …, fig10; those of no paper last."""
    paper, _, name = key.partition("/")
    parts = re.findall(r"(\d+)|([a-z]+)", name)
    place = [*catalogue.papers(), paper].index(paper)
    return place, [(int(number or 0), letters) for number, letters in parts]


def reproduce(
    entry: Entry,
    *,
    preset: str = "quick",
    seed: int = 0,
    out: str | Path = "tacit-output",
    force: bool = False,
    progress: Any = None,
    data: Any = None,
    parameters: dict[str, Any] | None = None,
) -> Reproduction:
    """Compute a figure, draw it as PNG and PDF, save its data and the verdict on its claims.

    Parameters
    ----------
    entry : Entry
        The figure, from `papers.figures`.
    preset : "quick" | "paper", optional
        Its sizes.
    seed : int, optional
        Of what is drawn at random.
    out : path, optional
        The folder for its files.
    force : bool, optional
        Replace the figure of another preset or seed, if the folder has one.
    progress : callable, optional
        Is told how far it is.
    data : xarray.Dataset, optional
        What the figure's own `data` computed before, or on another machine, with these parameters. If left
        out, it is computed now.
    parameters : dict, optional
        In place of those of the preset.

    Returns
    -------
    Reproduction
        Its data, claims and files.
    """
    import numpy as np

    from tacit.papers.completed import digest, made_with
    from tacit.show.figures import render
    from tacit.show.output_files import claim_all, json_file, make_folder, netcdf_file, write_together
    from tacit.show.progress import progress as bar

    if preset not in PRESETS:
        raise InputError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}")
    begun = time.perf_counter()
    by, outputs = entry.command(preset, seed), entry.outputs(preset, seed, out, force)
    make_folder(Path(out, entry.key).parent)
    claim_all(outputs.values())
    shown = entry.make()
    parameters = parameters or entry.presets[preset]
    if data is None:
        data = shown.data(**parameters, seed=seed, progress=progress or bar)
    data.attrs.update(figure=entry.key, preset=preset, seed=str(seed))
    with np.errstate(divide="ignore", invalid="ignore"):  # what cannot be measured is NaN, and fails
        claims = tuple(shown.claims(data))
    pictures = render(lambda ax: shown.draw(data, ax), ["png", "pdf"], by, **entry.layout)
    result = Reproduction(
        entry.key,
        entry.caption,
        preset,
        seed,
        parameters,
        claims,
        entry.files(out),
        time.perf_counter() - begun,
        data,
        made_with(entry.key),
    )
    contents = dict(zip(("png", "pdf", "nc"), (*pictures, netcdf_file(data, by)), strict=True))
    sums = {kind: digest(content) for kind, content in contents.items()}
    contents["json"] = json_file({**result.to_dict(), "sha256": sums}, by)
    write_together((content, outputs[kind]) for kind, content in contents.items())
    return result
