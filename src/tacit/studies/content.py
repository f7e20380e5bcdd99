"""Digests of values and functions by their content, equal in every process and on every machine."""

from __future__ import annotations

import hashlib
import inspect
import pickle
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

_LIBRARIES = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib"))
_OWN = Path(__file__).parents[1]  # Tacit itself; its version is part of every key


def digest(*values: Any) -> str:
    """A hexadecimal SHA-256 of values: numbers, text, arrays, containers of these, functions and modules.

    Other objects are represented by their pickles. Numbers of different types, such as 1 and 1.0, differ.
    """
    found = hashlib.sha256()
    for part in _Walk().parts(values):
        found.update(part)
    return found.hexdigest()


class _Walk:
    """One traversal, in which every function and class is visited once."""

    def __init__(self) -> None:
        # by identity; keeps visited objects alive, so that no identity is reused
        self.seen: dict[int, Any] = {}

    def parts(self, value: Any) -> Iterator[bytes]:
        """Bytes that represent the value; every part begins with its type and length."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            yield _part(type(value).__name__, repr(value).encode(errors="surrogatepass"))
        elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
            content = np.ascontiguousarray(value)
            yield _part(f"array {value.dtype.str} {value.shape}", content.tobytes())
        elif isinstance(value, tuple | list):
            yield _part(f"{type(value).__name__} {len(value)}")
            for each in value:
                yield from self.parts(each)
        elif isinstance(value, set | frozenset):
            yield _part("set", "".join(sorted(map(digest, value))).encode())
        elif isinstance(value, dict):
            yield from self.parts(("dict", *(pair for pair in value.items())))
        else:
            yield from self._object(value)

    def _object(self, value: Any) -> Iterator[bytes]:
        if id(value) in self.seen:
            yield _part("seen before")
            return
        self.seen[id(value)] = value
        if isinstance(value, types.FunctionType):
            yield from self._function(value)
        elif isinstance(value, types.MethodType):
            yield from self.parts((value.__func__, value.__self__))
        elif callable(value) and hasattr(value, "__wrapped__"):  # by functools.cache or jax.jit, for example
            yield from self.parts(value.__wrapped__)
        elif isinstance(value, partial):
            yield from self.parts((value.func, value.args, value.keywords))
        elif isinstance(value, types.ModuleType):
            yield _part(f"module {value.__name__}", _source_of(value))
        elif isinstance(value, type):
            yield _part(f"class {value.__qualname__}", _source_of(value))
        else:
            yield from self.parts(type(value))
            yield _part("object", _pickled(value))

    def _function(self, function: types.FunctionType) -> Iterator[bytes]:
        """Name, source or bytecode, defaults, closure, and the globals that the function uses."""
        yield _part(f"function {function.__qualname__}", _source_of(function))
        yield from self.parts((function.__defaults__, function.__kwdefaults__))
        for cell in function.__closure__ or ():
            try:
                yield from self.parts(cell.cell_contents)
            except ValueError:  # not assigned yet
                yield _part("empty")
        if _is_library(function):
            return
        for name in sorted(_names(function.__code__)):
            if name in function.__globals__:
                yield _part("global", name.encode())
                yield from self.parts(function.__globals__[name])


def _part(kind: str, content: bytes = b"") -> bytes:
    return f"{kind} {len(content)}:".encode() + content


def _names(code: types.CodeType) -> set[str]:
    """Names of globals and attributes in the bytecode, also of functions defined inside."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found


def _file_of(item: Any) -> Path | None:
    module = item if isinstance(item, types.ModuleType) else sys.modules.get(item.__module__)
    found = getattr(module, "__file__", None)
    return Path(found) if found else None


def _is_library(item: Any) -> bool:
    """Whether it belongs to Tacit, Python or an installed package, which are identified by their versions."""
    path = _file_of(item)
    if path is None:  # built in, or entered at a prompt
        module = item if isinstance(item, types.ModuleType) else sys.modules.get(item.__module__)
        return getattr(module, "__name__", "") != "__main__" and not isinstance(item, types.FunctionType)
    return path.is_relative_to(_OWN) or any(map(path.is_relative_to, _LIBRARIES))


def _source_of(item: Any) -> bytes:
    """The source of a function or class, the file of a module; the bytecode if there is no source.

    For objects of libraries only the name is part of the digest.
    """
    if _is_library(item):
        return str(getattr(item, "__module__", "")).encode()
    if isinstance(item, types.ModuleType):
        path = _file_of(item)
        return path.read_bytes() if path is not None and path.suffix == ".py" else b""
    try:
        if item.__name__ != "<lambda>":  # the lines of a lambda contain the call that it is an argument of
            return inspect.getsource(item).encode()
    except (OSError, TypeError):
        pass
    return _bytecode(item.__code__) if isinstance(item, types.FunctionType) else b""


def _bytecode(code: types.CodeType) -> bytes:
    """Instructions and constants, without the file and the line numbers."""
    inner = [_bytecode(each) for each in code.co_consts if isinstance(each, types.CodeType)]
    constants = [each for each in code.co_consts if not isinstance(each, types.CodeType)]
    return digest(code.co_code, inner, constants, code.co_names, code.co_varnames).encode()


def _pickled(value: Any) -> bytes:
    try:
        return pickle.dumps(value, protocol=4)
    except Exception:  # an object that cannot be pickled is identified by its class
        return b""


def name_of(function: Callable[..., Any]) -> str:
    """The qualified name of a function, or of the class of a callable object."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))
