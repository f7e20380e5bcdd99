"""A figure of the report: its picture, its claims, and how it was made."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from tacit.papers.registry import Entry
from tacit.report.formulas import html
from tacit.report.tags import anchor, table, verdict

_NAMES = {"tacit": "Tacit", "python": "Python", "numpy": "NumPy", "scipy": "SciPy", "jax": "JAX"}
_NAMES |= {"matplotlib": "Matplotlib", "source": "source"}


@dataclass(frozen=True)
class Shown:
    """A figure, what its JSON says of it ("left_out" or "error" where it was not made), and its PNG."""

    entry: Entry
    content: Mapping[str, Any]
    picture: bytes | None

    @property
    def is_made(self) -> bool:
        """Is there something to see?"""
        return self.picture is not None and "claims" in self.content

    @property
    def counts(self) -> tuple[int, int]:
        """Claims that hold, and claims that fail."""
        claims = self.content.get("claims", ())
        held = sum(claim["verdict"] == "holds" for claim in claims)
        return held, len(claims) - held

    @property
    def is_beyond(self) -> bool:
        """Is it one that the paper does not have?"""
        return not self.entry.key.partition("/")[2].startswith("fig")


def panel(shown: Shown) -> str:
    """The figure as an article."""
    place = anchor("figure", shown.entry.key)
    inside = _made(shown) if shown.is_made else _not_made(shown)
    return (
        f'<article class="panel" id="{place}" aria-labelledby="{place}-title">\n'
        f'<h4 id="{place}-title">{_heading(shown)}</h4>\n{inside}\n</article>'
    )


def _heading(shown: Shown) -> str:
    name = shown.entry.key.partition("/")[2]
    title = html(re.sub(r" \(Figure [\w.]+\)", "", shown.entry.title))
    return (
        f"{title} <code>{escape(name)}</code>" if shown.is_beyond else f"Figure {escape(name[3:])}: {title}"
    )


def _made(shown: Shown) -> str:
    content = shown.content
    rows = [
        (
            html(claim["text"]),
            _number(claim["measured"]),
            escape(claim["threshold"]).replace("-", "−"),
            verdict(claim["verdict"] == "holds"),
        )
        for claim in content["claims"]
    ]
    claims = table(
        f"Claims of {shown.entry.key}", ("Claim", "Measured", "Threshold", "Verdict"), rows, "claims"
    )
    return f"{_picture(shown)}\n{claims}\n{_made_how(content)}"


def _number(value: float | None) -> str:
    return "nothing to measure" if value is None else f"{value:.4g}".replace("-", "−")


def _picture(shown: Shown) -> str:
    assert shown.picture is not None
    width, height = struct.unpack(">II", shown.picture[16:24])  # of PNG's first chunk
    data = base64.b64encode(shown.picture).decode()
    alt = escape(f"Plot: {shown.entry.title}. The caption says what is drawn, the table below what it shows.")
    more = _caption(shown)
    caption = f"\n<figcaption>{more}</figcaption>" if more else ""
    size = f'width="{width}" height="{height}"'
    return f'<figure><img src="data:image/png;base64,{data}" {size} alt="{alt}">{caption}</figure>'


def _caption(shown: Shown) -> str:
    """Less its first sentence, which the heading has."""
    return html(shown.entry.caption.partition(". ")[2])


def _made_how(content: Mapping[str, Any]) -> str:
    parameters = ", ".join(f"{name} {_plain(value)}" for name, value in content["parameters"].items())
    versions = ", ".join(
        f"{_NAMES.get(name, name)} {value}" for name, value in content.get("made_with", {}).items()
    )
    rows = {
        "Command": f"<code>{escape(command(content))}</code>",
        "Sizes": escape(parameters) or "none",
        "Run time": f"{content['seconds']:.1f} s",
        "Versions": escape(versions) or "not recorded",
    }
    return f'<dl class="how">{"".join(f"<div><dt>{k}</dt><dd>{v}</dd></div>" for k, v in rows.items())}</dl>'


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "(" + ", ".join(map(_plain, value)) + ")"
    return f"{value:g}" if isinstance(value, float) else str(value)


def command(content: Mapping[str, Any]) -> str:
    """What to type to make it again."""
    return f"tacit reproduce {content['figure']} --preset {content['preset']} --seed {content['seed']}"


def _not_made(shown: Shown) -> str:
    reason = shown.content.get("left_out") or shown.content.get("error") or "it is not in the folder"
    return (
        f"<p>{_caption(shown)}</p>\n"
        f'<p class="missing"><strong>Not made:</strong> {escape(str(reason))}. '
        f"Once that is mended, <code>tacit reproduce {escape(shown.entry.key)}</code> makes it.</p>"
    )
