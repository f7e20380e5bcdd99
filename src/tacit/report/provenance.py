"""The software, preset and seed with which figures were made, and the figures that differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from tacit.papers.completed import made_with
from tacit.report.markup import anchor, link

_LIBRARIES = {
    "python": "Python",
    "numpy": "NumPy",
    "scipy": "SciPy",
    "jax": "JAX",
    "matplotlib": "Matplotlib",
}
_LISTED = 12  # figures that are listed by name
NAMES = {"tacit": "Tacit", **_LIBRARIES, "source": "source"}


def sizes(content: Mapping[str, Any]) -> str:
    """The preset and the seed as text."""
    return f"{content['preset']} preset, seed {content['seed']}"


def usual(contents: Sequence[Mapping[str, Any]]) -> str:
    """The most frequent preset and seed; the first one if several are equally frequent."""
    return Counter(map(sizes, contents)).most_common(1)[0][0] if contents else ""


def otherwise(content: Mapping[str, Any], others: str) -> str:
    """The settings in which a figure differs from this software and from most figures; else empty."""
    own = sizes(content)
    parts = [
        _software(content.get("made_with", {}), made_with(content["figure"])),
        f"{own}, whereas most figures have {others}" if own != others else "",
    ]
    return "; ".join(part for part in parts if part)


def _software(then: Mapping[str, Any], now: Mapping[str, str]) -> str:
    """The version of Tacit or of the libraries that made the figure, if it differs."""
    changed = [name for name, version in now.items() if then.get(name) != version]
    if not changed:
        return ""
    others = [f"{NAMES[name]} {then[name]}" for name in changed if name in then and name in _LIBRARIES]
    others = ["different source code"] * ("source" in changed) + others
    by = f"made by Tacit {then.get('tacit', 'of an unknown version')}"
    return f"{by} with {', '.join(others)}" if others else by


def summary(made: Mapping[str, Mapping[str, Any]]) -> str:
    """A paragraph about the settings of most figures, with links to the figures that differ."""
    if not made:
        return ""
    most = usual(list(made.values()))
    apart = [key for key, content in made.items() if otherwise(content, most)]
    count = len(made) - len(apart)
    same = f"{count} of {len(made)} figures were made by this software: {escape(most)}."
    if not apart:
        return f"<p>{same}</p>\n"
    links = ", ".join(link(anchor("figure", key), escape(key)) for key in apart)
    others = f"Otherwise: {links}." if len(apart) <= _LISTED else "The other figures state their settings."
    return f"<p>{same} {others}</p>\n"
