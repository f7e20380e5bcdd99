"""Replacement of correct components by wrong ones in the memory of a process.

A `Fault` names one attribute of Tacit, and makes its replacement from the original. `plant` replaces it. The
default tests run with it in a process that has this folder on its path, the plugin `planted` of pytest, and
the name of the fault in TACIT_FAULT.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import Any

VARIABLE = "TACIT_FAULT"
REFEREES = ("check", "figures", "tests")
Wrong = Callable[[Any], Any]  # maps the correct component to the wrong one


@dataclass(frozen=True)
class Asked:
    """A case for `tacit.check`: the key of a theorem, and the name of a case in `cases`."""

    key: str
    case: str

    def __str__(self) -> str:
        return f"{self.key}, {self.case}"


@dataclass(frozen=True)
class Shown:
    """A figure with its quick preset, except for the given parameters."""

    key: str
    sizes: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return f"{self.key} {dict(self.sizes) or ''}".strip()


@dataclass(frozen=True)
class Fault:
    """A fault, its place, and the detectors that must detect it.

    wrong: a description. at: "module:attribute" or "module:Class.attribute". plant: makes the wrong component
    from
    the correct one. check: cases for `tacit.check`. figures: figures of which a claim must fail. tests:
    default tests of which one must fail. unconcerned: detectors that the fault cannot affect, with the
    reason.
    """

    name: str
    wrong: str
    at: str
    plant: Wrong
    check: tuple[Asked, ...] = ()
    figures: tuple[Shown, ...] = ()
    tests: tuple[str, ...] = ()
    unconcerned: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def plant(fault: Fault, put: Callable[[Any, str, Any], None] = setattr) -> None:
    """Plant a fault permanently, unless `put` reverts it: JAX keeps compiled functions."""
    module, _, path = fault.at.partition(":")
    *owners, name = path.split(".")
    owner: Any = import_module(module)
    for each in owners:
        owner = getattr(owner, each)
    right = inspect.getattr_static(owner, name)
    wrong = fault.plant(right)
    if owners:
        put(owner, name, wrong)
        return
    for holder in [each for key, each in sys.modules.items() if key.split(".")[0] == "tacit"]:
        for held in [key for key, value in vars(holder).items() if value is right]:
            put(holder, held, wrong)


def swapped(old: str, new: str) -> Wrong:
    """The function with one expression of its source replaced."""

    def wrong(right: Any) -> Any:
        function = right.fget if isinstance(right, property) else inspect.unwrap(right)
        source = textwrap.dedent(inspect.getsource(function))
        if source.count(old) != 1:
            raise LookupError(f"{function.__qualname__} must have {old!r} once: the fault is out of date")
        made: dict[str, Any] = {}
        code = compile(source.replace(old, new), "<fault>", "exec", annotations.compiler_flag)
        exec(code, sys.modules[function.__module__].__dict__, made)
        return made[function.__name__]

    return wrong


def returning(change: Callable[..., Any]) -> Wrong:
    """The function or property with its return value changed by change(returned, *arguments)."""

    def wrong(right: Any) -> Any:
        function = right.fget if isinstance(right, property) else right

        def again(*arguments: Any, **named: Any) -> Any:
            return change(function(*arguments, **named), *arguments)

        return property(again) if isinstance(right, property) else again

    return wrong
