"""In which order several processes make figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tacit.papers.registry import Entry

_SHORT = 2.0  # seconds, of those that the table does not have
_SECONDS = {  # on one core, at the quick preset, roughly: only which takes longer counts
    "woodworth2020": {
        "fig6c": 60,
        "fig6d": 60,
        "fig8": 60,
        "fig6a": 26,
        "commuting": 16,
        "fig5": 14,
        "theorem4": 13,
        "fig3c": 10,
        "fig1c": 8,
        "fig7": 8,
        "theorem9": 7,
    },
    "moroshko2020": {
        "fig6": 22,
        "fig3d": 14,
        "fig4b": 12,
        "fig3b": 11,
        "fig3c": 10,
        "fig4a": 10,
        "fig8a": 10,
        "fig5b": 7,
        "open-question": 6,
        "fig5a": 5,
        "fig7": 5,
        "fig3a": 4,
        "fig8b": 4,
        "fig8c": 3,
        "fig9": 3,
    },
    "azulay2021": {"theorem3": 12, "neuron-limits": 11, "regime-map": 6, "proposition1": 4, "fig7.2": 3},
    "min2021": {"fig1": 6, "fig4": 6, "fig3": 4, "fig2": 3},
}


def groups(entries: Sequence[Entry], known: Callable[[Entry], float | None]) -> list[list[Entry]]:
    """Figures that share a module, and so may share what they compute, together; those that take long first.

    known: how long a figure took before, if that is known.
    """
    together: dict[str, list[Entry]] = {}
    for entry in entries:
        together.setdefault(entry.make.__module__, []).append(entry)

    def seconds(entry: Entry) -> float:
        paper, _, name = entry.key.partition("/")
        before = known(entry)
        return _SECONDS.get(paper, {}).get(name, _SHORT) if before is None else before

    return sorted(together.values(), key=lambda group: -sum(map(seconds, group)))
