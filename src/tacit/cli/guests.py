"""Objects that users name as file.py:Name."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from tacit.errors import InputError


def is_guest(text: str) -> bool:
    """Does this name an object in a file of the user's?"""
    return ".py:" in text


def guest(text: str) -> Any:
    """The object that file.py:Name names."""
    path, _, name = text.rpartition(":")
    module = _loaded(Path(path))
    if not hasattr(module, name):
        public = ", ".join(key for key in vars(module) if not key.startswith("_")) or "nothing"
        raise InputError(f"{path} has no {name!r}; it has {public}")
    return getattr(module, name)


def guest_model(text: str, features: int) -> Any:
    """The model that file.py:Name names: an object, or a class or function that makes one.

    What makes one is called without arguments, or with the number of features if it asks for something.
    """
    from tacit.models import Model

    found = guest(text)
    if callable(found) and not isinstance(found, Model):
        found = found(features) if _asks(found) else found()
    if not isinstance(found, Model):
        raise InputError(
            f"{text} must be a tacit.Model, or make one when called; it is {type(found).__name__}"
        )
    return found


def guest_network(text: str, features: int, outputs: int) -> Any:
    """The network that file.py:Name names: a Network, a torch module, a pair (apply, params), or its maker.

    What makes one is called with as many of features and outputs as it asks for.
    """
    from tacit.errors import TacitError
    from tacit.networks import Network

    found = guest(text)
    if callable(found) and not isinstance(found, Network) and not _is_module(found):
        try:
            found = found(*(features, outputs)[: _asked(found)])
        except TacitError:
            raise
        except Exception as error:
            raise InputError(f"{text} failed: {type(error).__name__}: {error}") from error
    if isinstance(found, Network):
        return found
    if _is_module(found):
        return Network.from_torch(found)
    if isinstance(found, tuple) and len(found) == 2 and callable(found[0]):
        return Network(*found)
    raise InputError(
        f"{text} must give a torch module, a pair (apply, params) or a tacit.Network; it gives "
        f"{type(found).__name__}"
    )


def _is_module(found: Any) -> bool:
    return hasattr(found, "named_parameters") and not isinstance(found, type)


def _asked(function: Any) -> int:
    """How many arguments it must be given."""
    parameters = inspect.signature(function).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(each.kind in kinds and each.default is each.empty for each in parameters)
    if count > 2:
        raise InputError(
            f"what makes a network is given the numbers of features and of outputs, and {count} are asked for"
        )
    return count


def _asks(function: Any) -> bool:
    """Must it be given an argument?"""
    parameters = inspect.signature(function).parameters.values()
    needed = (each for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD))
    return any(each.default is each.empty for each in needed)


def _loaded(path: Path) -> ModuleType:
    """The file, run as a module of its own; what goes wrong in it is said in a line."""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    name = f"tacit_guest_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses of the file look for it here
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{path} does not run: {type(error).__name__}: {error}") from error
    return module
