"""Pickling and copying objects that contain functions."""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from tacit.errors import InputError

# Packages that pickle functions by value, including lambdas; older releases of joblib contain a copy.
_BY_VALUE = ("cloudpickle", "joblib.externals.cloudpickle")


class PicklesFunctions:
    """Base class of objects with attributes, named in `functions`, that are functions of the user.

    Pickle stores a function by its module and name, which a lambda or a local function does not have. Such a
    function is pickled by value if cloudpickle is installed; otherwise the object is pickled without it, and
    calling the function raises an `InputError`. Copies share the function.
    """

    functions: tuple[str, ...] = ("function",)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {name: Carried(getattr(self, name)) for name in self.functions}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: carried(value) for name, value in state.items()})


class Carried:
    """A wrapper for pickling and copying a function; unpickling returns the function itself."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function

    def __deepcopy__(self, memo: dict[int, Any]) -> Callable[..., Any]:
        return self.function

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickle the function as usual, else by name, else by value, else as `NotPickled`."""
        function = self.function
        if is_picklable(function):
            return _itself, (function,)
        module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
        if _imported(module, name) is function:  # the result of jax.jit has a name, but cannot be pickled
            return _imported, (module, name)
        if content := by_value(function):
            return _of_content, (content, name_of_function(function))
        return NotPickled, (name_of_function(function),)


class NotPickled:
    """A placeholder for a function that could not be pickled; calling it raises `InputError`."""

    def __init__(self, name: str):
        self.__name__ = name

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        raise InputError(
            f"the function {self.__name__} could not be pickled, so this copy cannot evaluate it. Define it "
            "with def at the top level of a module, or install cloudpickle"
        )

    def __repr__(self) -> str:
        return f"NotPickled({self.__name__})"


def carried(value: Any) -> Any:
    """The function inside a `Carried`; any other value unchanged."""
    return value.function if isinstance(value, Carried) else value


def can_be_pickled(function: Callable[..., Any]) -> bool:
    """Whether the function can still be called after pickling."""
    return Carried(function).__reduce__()[0] is not NotPickled


def name_of_function(function: Any) -> str:
    """The name of a function, or of the class of a callable object."""
    return str(getattr(function, "__name__", type(function).__name__))


def _itself(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _of_content(content: bytes, name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = pickle.loads(content)
    if name_of_function(function) == name:
        return function
    named = partial(function)  # the result of jax.jit loses its name
    named.__name__ = name  # type: ignore[attr-defined]
    return named


def is_picklable(function: Callable[..., Any]) -> bool:
    try:
        pickle.dumps(function)
    except Exception:  # pickle raises whatever the function's own attributes raise
        return False
    return True


def _imported(module: str | None, name: str | None) -> Any:
    """The object with this name in a module; None if there is none."""
    if module is None or name is None:
        return None
    if module not in sys.modules:
        importlib.import_module(module)
    found: Any = sys.modules[module]
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def by_value(function: Callable[..., Any]) -> bytes | None:
    """The function pickled with its code, if an installed package can do this; otherwise None."""
    for module in _BY_VALUE:
        try:
            return bytes(importlib.import_module(module).dumps(function))
        except Exception:  # not installed, or an unpicklable closure, such as one with an open file
            continue
    return None
