"""Figures of the papers: data, a drawing, and claims that are decided by numbers."""

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
from tacit.papers.catalogue import Catalogue, suggestion
from tacit.results.claims import Claim

if TYPE_CHECKING:
    from tacit.show.output_files import Output

T = TypeVar("T")
Progress = Callable[..., Any]  # progress(items, label) iterates over the items and shows how many are done
PRESETS = ("quick", "paper")
_HOW_TO_REPLACE = "--force (in Python force=True) replaces it, another folder (--out) keeps both"


@dataclass(frozen=True)
class Entry:
    """A registered figure with its presets.

    Attributes
    ----------
    key : str
        Its key, "paper/figure".
    make : type
        A class whose instances have `data(**parameters, seed, progress)`, which computes everything as a
        `xarray.Dataset`; `draw(data, ax)`, which draws it and computes nothing; and `claims(data)`, which
        yields the claims of the paper with measured numbers. Its docstring is the caption.
    presets : dict
        The parameters of each preset, by name.
    layout : dict
        The layout of the picture, such as its size and panels.
    about : tuple of str
        Items of the paper to which the figure belongs, besides the one that its key is named after.
    seconds : float
        Approximate time of the quick preset on one core; figures that take longer are started first.
    short : str
        A short title; figures that have one are in the gallery.

    Examples
    --------
    >>> from tacit.papers import figures
    >>> (entry,) = figures("woodworth2020/fig1a")
    >>> entry.title
    'Population error of the limit of gradient flow against the initialization scale'
    >>> entry.command("quick", seed=0)
    'reproduce woodworth2020/fig1a --preset quick --seed 0'
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
        """The caption: the docstring of the class, in one line."""
        return " ".join((self.make.__doc__ or "").split())

    @property
    def title(self) -> str:
        """The first sentence of the caption, without the number of the figure, which is in the key."""
        sentence = re.split(r"\.(?: |$)", self.caption)[0]
        return re.sub(r" \(Figure [\w.]+\)$", "", sentence)

    @property
    def says(self) -> str:
        """The description used in lists of items: the title."""
        return self.title

    def command(self, preset: str, seed: int) -> str:
        """The command that makes the figure.

        Parameters
        ----------
        preset : "quick" | "paper"
            Name of the preset.
        seed : int
            Seed of the random numbers.

        Returns
        -------
        str
            The arguments of `tacit`.
        """
        return f"reproduce {self.key} --preset {preset} --seed {seed}"

    def files(self, out: str | Path) -> dict[str, str]:
        """The paths of the files of the figure in a folder.

        Parameters
        ----------
        out : path
            The folder.

        Returns
        -------
        dict of str
            The path by kind.
        """
        return {kind: f"{Path(out) / self.key}.{kind}" for kind in ("png", "pdf", "nc", "json")}

    def outputs(self, preset: str, seed: int, out: str | Path, force: bool = False) -> dict[str, Output]:
        """The output files of a preset and seed; files of other presets and seeds need force to be replaced.

        Parameters
        ----------
        preset : "quick" | "paper"
            Name of the preset.
        seed : int
            Seed of the random numbers.
        out : path
            The folder.
        force : bool, optional
            Replace files of another preset or seed.

        Returns
        -------
        dict
            Files to be reserved and written, by kind.
        """
        from tacit.show.output_files import Output

        by, files = self.command(preset, seed), self.files(out)
        return {kind: Output(path, kind, by, force, _HOW_TO_REPLACE) for kind, path in files.items()}


@dataclass(frozen=True, eq=False)
class Reproduction:
    """A reproduced figure: its data, claims and files.

    Attributes
    ----------
    key : str
        Its key, "paper/figure".
    caption : str
        What it shows.
    preset : str
        Name of the preset.
    seed : int
        Seed of the random numbers.
    parameters : dict
        The parameters of the preset.
    claims : tuple of Claim
        The claims with their measured numbers.
    files : dict of str
        The written files, path by kind.
    seconds : float
        Elapsed time.
    data : xarray.Dataset
        All computed data.
    made_with : dict of str
        Versions of Tacit and of the packages it uses.

    Examples
    --------
    >>> from tacit.papers import Reproduction, at_most
    >>> claim = at_most(0.1).claim("the error is small", 0.02)
    >>> files = {"png": "p/fig1.png"}
    >>> made = Reproduction("p/fig1", "Errors.", "quick", 0, {}, (claim,), files, 1.5, None, {})
    >>> print(made.summary())
    p/fig1
      Errors.
      holds  the error is small: 0.02 (at most 0.1)
      p/fig1.png  (1.5 s)
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
        """Whether all claims hold."""
        return all(claim.holds for claim in self.claims)

    def summary(self) -> str:
        """Caption, verdicts of the claims, path of the picture and elapsed time, as text."""
        return in_words(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Everything except the data, ready for JSON."""
        first = ("caption", "preset", "seed", "parameters", "claims", "holds")
        names = (*first, "files", "seconds", "made_with")
        content = {"figure": self.key, **{name: getattr(self, name) for name in names}}
        return content | {"claims": [claim.to_dict() for claim in self.claims]}


def in_words(content: Mapping[str, Any]) -> str:
    """The text of `Reproduction.summary`, from the content of the JSON of a figure."""
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
        Items of the paper to which the figure belongs, besides the one that its key is named after:
        "Theorem 2".
    seconds : float, optional
        Approximate time of the quick preset on one core.
    short : str, optional
        A short title for the gallery; figures without one are not in the gallery.
    **layout
        The layout of the picture, such as its size and panels.

    Returns
    -------
    callable
        A decorator of classes, see `papers.Entry`.

    Examples
    --------
    The decorator registers a class with the methods `data`, `draw` and `claims`:

    >>> from tacit.papers import figure
    >>> register = figure("paper2030/fig1", quick={"points": 20}, paper={"points": 200})
    """

    def register(make: type[T]) -> type[T]:
        entry = Entry(key, make, {"quick": quick, "paper": paper}, layout, about, seconds, short)
        _FIGURES.register(key, entry, make.__module__)
        return make

    return register


def presets(**sizes: tuple[Any, Any]) -> dict[str, Any]:
    """The presets as arguments of `figure`: each parameter with its value in "quick" and in "paper"."""
    return {name: {key: pair[k] for key, pair in sizes.items()} for k, name in enumerate(PRESETS)}


def figures(selection: str = "all") -> list[Entry]:
    """The figures of a selection; only their modules are imported.

    Parameters
    ----------
    selection : str, optional
        "all", the key of a paper, or the key of a figure.

    Returns
    -------
    list of Entry
        In the order of the papers.

    Raises
    ------
    InputError
        If there is no such figure.

    Examples
    --------
    >>> from tacit.papers import figures
    >>> [entry.key for entry in figures("woodworth2020/fig3b")]
    ['woodworth2020/fig3b']
    """
    everything = selection in ("all", "list")
    found = [_FIGURES[key] for key in _FIGURES.known()] if everything else _FIGURES.selected(selection)
    if not found:
        near = suggestion(selection, sorted(_FIGURES.known(), key=_reading_order))
        raise InputError(f"no figure or paper {selection!r}; {near} 'tacit reproduce list' shows all")
    return sorted(found, key=lambda each: _reading_order(each.key))


def _reading_order(key: str) -> tuple[int, list[tuple[int, str]]]:
    """Sort key: by paper, then fig1a, fig1b, fig2, …, fig10; figures without a paper last."""
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
    """Compute a figure, draw it as PNG and PDF, and save its data and the verdicts on its claims.

    Parameters
    ----------
    entry : Entry
        The figure, from `papers.figures`.
    preset : "quick" | "paper", optional
        Name of the preset.
    seed : int, optional
        Seed of the random numbers.
    out : path, optional
        The folder for its files.
    force : bool, optional
        Replace the figure of another preset or seed, if the folder contains one.
    progress : callable, optional
        progress(items, label) iterates over the items; the default shows a progress bar.
    data : xarray.Dataset, optional
        Data that the figure's own `data` computed before, or on another machine, with these parameters. By
        default it is computed.
    parameters : dict, optional
        Replaces the parameters of the preset.

    Returns
    -------
    Reproduction
        Its data, claims and files.

    Raises
    ------
    InputError
        If the preset is unknown.

    Examples
    --------
    >>> import tempfile
    >>> from tacit.papers import figures, reproduce
    >>> (entry,) = figures("woodworth2020/fig2")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     reproduce(entry, out=folder).holds
    True
    """
    import numpy as np

    from tacit.papers.completed import digest, made_with
    from tacit.show.figures import render
    from tacit.show.output_files import check_outputs, json_file, make_folder, netcdf_file, write_together
    from tacit.show.progress import progress as bar

    if preset not in PRESETS:
        raise InputError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}")
    begun = time.perf_counter()
    by, outputs = entry.command(preset, seed), entry.outputs(preset, seed, out, force)
    make_folder(Path(out, entry.key).parent)
    check_outputs(outputs.values())
    shown = entry.make()
    parameters = parameters or entry.presets[preset]
    if data is None:
        data = shown.data(**parameters, seed=seed, progress=progress or bar)
    data.attrs.update(figure=entry.key, preset=preset, seed=str(seed))
    with np.errstate(divide="ignore", invalid="ignore"):  # undefined quantities are NaN, so their claims fail
        claims = tuple(shown.claims(data))
    pictures = render(lambda ax: shown.draw(data, ax), ["png", "pdf"], by, **entry.layout)
    seconds, files = time.perf_counter() - begun, entry.files(out)
    how = (preset, seed, parameters, claims, files, seconds, data, made_with(entry.key))
    result = Reproduction(entry.key, entry.caption, *how)
    contents = dict(zip(("png", "pdf", "nc"), (*pictures, netcdf_file(data, by)), strict=True))
    sums = {kind: digest(content) for kind, content in contents.items()}
    contents["json"] = json_file({**result.to_dict(), "sha256": sums}, by)
    write_together((content, outputs[kind]) for kind, content in contents.items())
    return result
