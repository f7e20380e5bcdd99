"""Compute limits, margins and flows that several theorems need only once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

_P = ParamSpec("_P")
_R = TypeVar("_R")
_SMALL = 1000  # arrays with more entries are compared by identity, not by value
_memory: ContextVar[dict[Any, tuple[Any, Any]] | None] = ContextVar("memory", default=None)


@contextmanager
def sharing() -> Iterator[None]:
    """While this context is active, functions marked `shared` remember their results by arguments."""
    token = _memory.set({})
    try:
        yield
    finally:
        _memory.reset(token)


def shared(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Share the results of a function that depends on its arguments only; they must not be modified."""

    @wraps(function)
    def remembered(*arguments: _P.args, **options: _P.kwargs) -> _R:
        memory = _memory.get()
        if memory is None:
            return function(*arguments, **options)
        key = (function, *map(_key, arguments), *((name, _key(each)) for name, each in options.items()))
        if key not in memory:  # the arguments are stored, too, so that no new object gets the identity of one
            memory[key] = (function(*arguments, **options), (arguments, options))
        found: _R = memory[key][0]
        return found

    return remembered


def _key(value: Any) -> Any:
    """The identification of an argument: small values by value, data and models by identity."""
    if value is None or isinstance(value, str | float | int):
        return value
    if isinstance(value, list | np.ndarray) and np.size(value) <= _SMALL:
        return np.shape(value), np.asarray(value).tobytes()
    return id(value)
