"""Limits, margins and flows that several theorems ask for are computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

_P = ParamSpec("_P")
_R = TypeVar("_R")
_SMALL = 1000  # entries of an array that is known by what it holds
_memory: ContextVar[dict[Any, tuple[Any, Any]] | None] = ContextVar("memory", default=None)


@contextmanager
def sharing() -> Iterator[None]:
    """As long as this lasts, functions marked `shared` remember what they found for the same arguments."""
    token = _memory.set({})
    try:
        yield
    finally:
        _memory.reset(token)


def shared(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function whose results depend on its arguments alone, which nobody changes meanwhile."""

    @wraps(function)
    def remembered(*arguments: _P.args, **options: _P.kwargs) -> _R:
        memory = _memory.get()
        if memory is None:
            return function(*arguments, **options)
        key = (function, *map(_mark, arguments), *((name, _mark(each)) for name, each in options.items()))
        if key not in memory:  # with the arguments, so that no other object gets the identity of one
            memory[key] = (function(*arguments, **options), (arguments, options))
        found: _R = memory[key][0]
        return found

    return remembered


def _mark(value: Any) -> Any:
    """What tells one argument from another: small values by what they are, data and models by identity."""
    if value is None or isinstance(value, str | float | int):
        return value
    if isinstance(value, list | np.ndarray) and np.size(value) <= _SMALL:
        return np.shape(value), np.asarray(value).tobytes()
    return id(value)
