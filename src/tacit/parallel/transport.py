"""Transfer of functions to other processes: by name, by value, or by the script that defines them."""

from __future__ import annotations

import pickle
import runpy
import sys
from collections.abc import Callable
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from tacit.errors import InputError
from tacit.pickling import by_value, is_picklable, name_of_function

_SCRIPT = "__mp_main__"  # the name of the main script in other processes, as in multiprocessing
_in_script: ContextVar[bool] = ContextVar("in_script", default=False)


def packed(function: Callable[..., Any]) -> bytes:
    """The function as bytes from which `unpacked` restores it in another process.

    Functions of the main script, which has another name there, and functions without a name, such as lambdas,
    are pickled by value if cloudpickle is installed; without it, a function of a script is found by running
    the script. Raises `InputError` if none of these is possible.
    """
    of_script = getattr(function, "__module__", None) == "__main__"
    if not of_script and is_picklable(function):
        return pickle.dumps(function)
    if content := by_value(function):
        return content
    script = getattr(sys.modules["__main__"], "__file__", None)
    if of_script and script and is_picklable(function):
        return pickle.dumps(_OfScript(script, function.__qualname__))
    raise InputError(
        f"the function {name_of_function(function)} cannot be sent to other processes: define it with def at "
        "the top level of a module, install cloudpickle, or use executor='serial'"
    )


@lru_cache(maxsize=4)  # unpacked once in a process, although every task carries it
def unpacked(content: bytes) -> Callable[..., Any]:
    """The function that was packed."""
    function: Callable[..., Any] = pickle.loads(content)
    return function.load() if isinstance(function, _OfScript) else function


class _OfScript:
    """A function of the main script, by its name."""

    def __init__(self, path: str, name: str):
        self.path, self.name = path, name

    def load(self) -> Callable[..., Any]:
        """Run the script, whose main part is guarded, and return the function."""
        token = _in_script.set(True)
        try:
            found: Any = runpy.run_path(self.path, run_name=_SCRIPT)[self.name.partition(".")[0]]
        finally:
            _in_script.reset(token)
        for part in self.name.split(".")[1:]:
            found = getattr(found, part)
        return found  # type: ignore[no-any-return]

    def __call__(self) -> None:
        raise TypeError("a function of a script must be unpacked before it is called")


def check_guard(what: str) -> None:
    """Raise if another process is running the main script for its functions: its main part has no guard."""
    if _in_script.get():
        raise InputError(
            f"{what} is called when another process imports this script: put the call under "
            'if __name__ == "__main__":'
        )
