"""Methods of results that a higher layer implements: text, pictures, limits at other scales.

Results must not import `show` or `verbs`, which import them. The package's `__init__` therefore registers,
once, the function that implements each of these methods; its module is imported on the first call.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

_IMPLEMENTATIONS: dict[str, str] = {}


def register(implementations: Mapping[str, str]) -> None:
    """Register functions by class and method: {"Limit.summary": "tacit.show.text:limit_report"}."""
    _IMPLEMENTATIONS.update(implementations)


def delegate(result: Any, method: str, *arguments: Any, **options: Any) -> Any:
    """Call the function registered for this method of the result's class or of a base class."""
    for kind in type(result).__mro__:
        if home := _IMPLEMENTATIONS.get(f"{kind.__name__}.{method}"):
            module, _, name = home.partition(":")
            return getattr(import_module(module), name)(result, *arguments, **options)
    raise TypeError(f"{type(result).__name__} must implement {method}")
