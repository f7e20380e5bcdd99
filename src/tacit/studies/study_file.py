"""Studies described by a TOML file: model, data or generator, grid and measures."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data.tables import read_table
from tacit.errors import InputError
from tacit.studies.limit_study import GENERATED, GENERATORS, MEASURES, MODELS, UNITS, LimitStudy

_TOP = ("title", "measures", "model", "data", "generator", "grid", "run", "plot")
_RUN = ("seed", "executor", "store", "plot")
_SPACINGS = ("log", "linear", "near_one")


@dataclass(frozen=True, eq=False)
class StudyFile:
    """A study. run: seed, executor, store and plot, if they are given; level: a level line of the picture."""

    title: str
    function: LimitStudy
    grid: dict[str, list[Any]]
    run: dict[str, Any]
    level: float | None = None


def read_study(path: str | Path) -> StudyFile:
    """Read a study; an `InputError` names the wrong key and the most similar valid one."""
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"no file at {path}; STUDY must be a TOML file") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path} is not a readable TOML file: {error}") from error
    _check(content, _TOP, "")
    model, grid = _table(content, "model"), _grid(_table(content, "grid"))
    family = _choice(model.pop("family", "diagonal"), MODELS, "model.family")
    _check(model, tuple(MODELS[family]), "model.")
    data, units, generator, varied = _data(content, path.parent)
    _check(grid, (*MODELS[family], *varied), "grid.")
    for name in grid:
        if name in model or name in generator:
            raise InputError(
                f"{name} is in [grid] and in [{'model' if name in model else 'generator'}]; remove one"
            )
    for name in {"samples", "features"} & set(varied):
        if name not in generator and name not in grid:
            raise InputError(f"generator.{name} is missing; give it there or in [grid]")
    measures = _measures(content.get("measures"), data is None)
    run, plot = _table(content, "run"), _table(content, "plot")
    _check(run, _RUN, "run.")
    _check(plot, ("level",), "plot.")
    if "draw" in varied:
        generator["problem_seed"] = generator.pop("seed", 0)
    function = LimitStudy(family, {**model, **generator}, measures, data, units)
    return StudyFile(str(content.get("title", path.stem)), function, grid, run, plot.get("level"))


def _data(
    content: dict[str, Any], folder: Path
) -> tuple[Any, dict[str, bool], dict[str, Any], Sequence[str]]:
    """X and y with their units, or the parameters of random problems and the names of those that can vary."""
    if ("data" in content) == ("generator" in content):
        raise InputError("a study needs [data] (a table) or [generator] (random problems), and not both")
    if "data" in content:
        given = _table(content, "data")
        _check(given, ("file", "target", *UNITS), "data.")
        if "file" not in given:
            raise InputError("data.file is missing; name the table, relative to the folder of the study")
        table = read_table(folder / given["file"], given.get("target"))
        return (table.X, table.y), {name: bool(given.get(name, False)) for name in UNITS}, {}, ()
    generator = _table(content, "generator")
    kind = _choice(generator.pop("kind", "sparse"), GENERATORS, "generator.kind")
    _check(generator, (*GENERATORS[kind], "seed"), "generator.")
    return None, {}, generator, tuple(GENERATORS[kind])


def _measures(names: Any, generated: bool) -> tuple[str, ...]:
    if not isinstance(names, list) or not names:
        raise InputError(f"measures must be a list of names: {', '.join(MEASURES)}")
    for name in names:
        _choice(name, MEASURES, "measures")
        if name in GENERATED and not generated:
            raise InputError(f"the measure {name!r} needs the true predictor, which a table does not have")
    return tuple(names)


def _grid(given: dict[str, Any]) -> dict[str, list[Any]]:
    if not given:
        raise InputError("[grid] is missing; it gives the values of at least one parameter")
    return {name: _values(value, f"grid.{name}") for name, value in given.items()}


def _values(value: Any, key: str) -> list[Any]:
    """A list, or from, to, count and spacing; a whole number n for draw is 0, …, n − 1."""
    if isinstance(value, list):
        return value
    if key == "grid.draw" and isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return list(range(value))
    if not isinstance(value, dict):
        raise InputError(f"{key} must be a list, or {{from = 1e-3, to = 1.0, count = 10}}, got {value!r}")
    _check(value, ("from", "to", "count", "spacing"), f"{key}.")
    try:
        start, end, count = float(value["from"]), float(value["to"]), int(value["count"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{key} needs numbers from, to and count, got {value}") from error
    spacing = _choice(value.get("spacing", "log"), _SPACINGS, f"{key}.spacing")
    if spacing == "linear":
        return list(np.linspace(start, end, count).tolist())
    near = spacing == "near_one"
    ends = (1 - start, 1 - end) if near else (start, end)
    if min(ends) <= 0:
        where = "below 1" if near else "positive"
        raise InputError(
            f"{key}: from and to must be {where} with spacing = {spacing!r}, got {start:g} and {end:g}"
        )
    found = np.geomspace(*ends, count)
    return list((1 - found if near else found).tolist())


def _table(content: dict[str, Any], name: str) -> dict[str, Any]:
    found = content.get(name, {})
    if not isinstance(found, dict):
        raise InputError(f"{name} must be a table, [{name}], got {found!r}")
    return dict(found)


def _check(given: dict[str, Any], known: Sequence[str], where: str) -> None:
    """Raise if a key is unknown."""
    for key in given:
        if key not in known:
            raise InputError(f"unknown key {where}{key}{_instead(key, known)}")


def _choice(value: Any, known: Any, key: str) -> str:
    if value not in tuple(known):
        raise InputError(f"{key}: unknown name {value!r}{_instead(str(value), tuple(known))}")
    return str(value)


def _instead(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else f"; known are {', '.join(known) or 'none'}"
