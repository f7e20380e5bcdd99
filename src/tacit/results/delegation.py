"""Questions to a result that a layer above answers: its text, its picture, its limits at other scales.

Results know nothing of `show` and `verbs`. The package's `__init__` names, once, the function that answers
each question; its module is imported when the question is first asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

_ANSWERS: dict[str, str] = {}


def answered_by(answers: Mapping[str, str]) -> None:
    """Register answers: {"Limit.summary": "tacit.show.text:limit_report"}."""
    _ANSWERS.update(answers)


def ask(result: Any, question: str, *arguments: Any, **options: Any) -> Any:
    """Call the function that answers this question about results of this class, with the result first."""
    for kind in type(result).__mro__:
        if home := _ANSWERS.get(f"{kind.__name__}.{question}"):
            module, _, name = home.partition(":")
            return getattr(import_module(module), name)(result, *arguments, **options)
    raise TypeError(f"{type(result).__name__} must implement {question}")
