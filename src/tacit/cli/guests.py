"""Objects in the user's own files, named as file.py:Name."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

from tacit.errors import InputError, TacitError

_files: dict[str, str] = {}  # of guests, and the names that the user gave


@contextmanager
def blaming_guests() -> Iterator[None]:
    """Report an exception raised in the user's file as invalid input, with the file and line."""
    try:
        yield
    except (Exception, SystemExit) as error:
        line = _guilty_line(error)
        if line is None or (isinstance(error, TacitError) and not isinstance(error, InputError)):
            raise
        raise InputError(f"{line}: {_what(error)}") from error


def _guilty_line(error: BaseException | None) -> str | None:
    """The last line of the user's file in the traceback of the error or of its cause."""
    if error is None:
        return None
    if isinstance(error, SyntaxError) and error.filename in _files:
        return f"{_files[error.filename]}, line {error.lineno}"
    found = None
    for frame, line in walk_tb(error.__traceback__):
        if (file := frame.f_code.co_filename) in _files:
            found = f"{_files[file]}, line {line}"
    return found or _guilty_line(error.__cause__)


def _what(error: BaseException) -> str:
    """The error in one line."""
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, SystemExit):
        return f"the file calls sys.exit({error.code!r})"
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    first = text.strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def is_guest(text: str) -> bool:
    """Whether the text names an object in a file."""
    return ".py:" in text


def guest(text: str) -> Any:
    """The object named by file.py:Name."""
    path, _, name = text.rpartition(":")
    return _named(_loaded(Path(path)), name, path)


def guest_or_import(text: str) -> Any:
    """The object named by file.py:Name or package.module:Name."""
    if is_guest(text):
        return guest(text)
    module, _, name = text.rpartition(":")
    if not module:
        raise InputError(f"name the function as FILE.py:FUNCTION or package.module:function, not {text!r}")
    try:
        spec = importlib.util.find_spec(module)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {module!r}")
        if spec.origin is not None:
            _files[spec.origin] = spec.origin
        return _named(importlib.import_module(module), name, module)
    except (ImportError, ValueError) as error:
        if _guilty_line(error) is not None:
            raise
        raise InputError(f"{text} cannot be loaded: {error}; name a file as FILE.py:FUNCTION") from error


def _named(module: ModuleType, name: str, where: str) -> Any:
    if not hasattr(module, name):
        public = ", ".join(key for key in vars(module) if not key.startswith("_")) or "nothing"
        raise InputError(f"{where} has no {name!r}; it has {public}")
    return getattr(module, name)


def guest_model(text: str, features: int) -> Any:
    """The model named by file.py:Name: an object, or a class or function that returns one.

    A class or function is called without arguments, or with the number of features if it has a required
    argument.
    """
    from tacit.models import Model

    found = guest(text)
    if callable(found) and not isinstance(found, Model):
        found = _made(text, found, *[features][: _asked(found)])
    if not isinstance(found, Model):
        raise InputError(
            f"{text} must be a tacit.Model, or a class or function that returns one; it is "
            f"{type(found).__name__}"
        )
    return found


def guest_network(text: str, features: int, outputs: int) -> Any:
    """The network named by file.py:Name: a Network, a torch module, a pair (apply, params), or a function.

    A function that returns one of these is called with the number of features and, if it has two required
    arguments, the number of outputs.
    """
    from tacit.networks import Network

    found = guest(text)
    if callable(found) and not isinstance(found, Network) and not _is_module(found):
        if (count := _asked(found)) > 2:
            raise InputError(
                "the function is called with the numbers of features and outputs, but it requires "
                f"{count} arguments"
            )
        found = _made(text, found, *(features, outputs)[:count])
    if isinstance(found, Network):
        return found
    if _is_module(found):
        return Network.from_torch(found)
    if isinstance(found, tuple) and len(found) == 2 and callable(found[0]):
        return Network(*found)
    raise InputError(
        f"{text} must return a torch module, a pair (apply, params) or a tacit.Network; it returned "
        f"{type(found).__name__}"
    )


def _made(text: str, make: Any, *arguments: int) -> Any:
    """Call the user's function; it may fail before its first line if its arguments do not match."""
    try:
        return make(*arguments)
    except Exception as error:
        if isinstance(error, TacitError) or _guilty_line(error) is not None:
            raise
        raise InputError(f"{text} failed: {_what(error)}") from error


def _is_module(found: Any) -> bool:
    return hasattr(found, "named_parameters") and not isinstance(found, type)


def _asked(function: Any) -> int:
    """The number of required positional arguments."""
    parameters = inspect.signature(function).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.kind in kinds and each.default is each.empty for each in parameters)


def _loaded(path: Path) -> ModuleType:
    """Run the file as a module."""
    if not path.is_file():
        raise InputError(f"no file {path}")
    name = f"tacit_guest_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None and spec.origin is not None
    _files[spec.origin] = str(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up here
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        if _guilty_line(error) is not None:
            raise
        raise InputError(f"{path} does not run: {_what(error)}") from error
    return module
