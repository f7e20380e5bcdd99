"""A figure of the report: its picture, its claims, how it was made, and whether otherwise than the others.

Figures that need data which few machines have are shown as they were made once, at the sizes of the paper.
"""

from __future__ import annotations

import base64
import json
import re
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from tacit.papers.completed import made_with
from tacit.papers.reproduction import Entry
from tacit.report.markup import anchor, html, link, table, verdict

_LIBRARIES = {
    "python": "Python",
    "numpy": "NumPy",
    "scipy": "SciPy",
    "jax": "JAX",
    "matplotlib": "Matplotlib",
}
_LISTED = 12  # figures that are named
NAMES = {"tacit": "Tacit", **_LIBRARIES, "source": "source"}


def sizes(content: Mapping[str, Any]) -> str:
    """The preset and the seed, in words."""
    return f"{content['preset']} preset, seed {content['seed']}"


def usual(contents: Sequence[Mapping[str, Any]]) -> str:
    """The preset and the seed that most figures have; the first of those that are equally common."""
    return Counter(map(sizes, contents)).most_common(1)[0][0] if contents else ""


def otherwise(content: Mapping[str, Any], others: str) -> str:
    """What sets a figure apart from what this software makes, and from what most others are, if anything."""
    own = sizes(content)
    parts = [
        _software(content.get("made_with", {}), made_with(content["figure"])),
        f"{own}, where most have {others}" if own != others else "",
    ]
    return "; ".join(part for part in parts if part)


def _software(then: Mapping[str, Any], now: Mapping[str, str]) -> str:
    """The Tacit that made it, if it is another one, or its libraries, if they are others."""
    changed = [name for name, version in now.items() if then.get(name) != version]
    if not changed:
        return ""
    others = [f"{NAMES[name]} {then[name]}" for name in changed if name in then and name in _LIBRARIES]
    others = ["other source"] * ("source" in changed) + others
    by = f"made by Tacit {then.get('tacit', 'of an unknown version')}"
    return f"{by} with {', '.join(others)}" if others else by


def summary(made: Mapping[str, Mapping[str, Any]]) -> str:
    """A paragraph: what most figures are, and links to those that were made otherwise."""
    if not made:
        return ""
    most = usual(list(made.values()))
    apart = [key for key, content in made.items() if otherwise(content, most)]
    count = len(made) - len(apart)
    same = f"{count} of {len(made)} figures were made by this software: {escape(most)}."
    if not apart:
        return f"<p>{same}</p>\n"
    links = ", ".join(link(anchor("figure", key), escape(key)) for key in apart)
    others = f"Otherwise: {links}." if len(apart) <= _LISTED else "The others say how they were made."
    return f"<p>{same} {others}</p>\n"


@dataclass(frozen=True)
class Shown:
    """A figure, what its JSON says of it ("left_out" or "error" where it was not made), and its PNG.

    instead_of: why it was not made, where it is shown as it is on record. otherwise: in which way it was made
    otherwise than this software would, or than the others were.
    """

    entry: Entry
    content: Mapping[str, Any]
    picture: bytes | None
    instead_of: str = ""
    otherwise: str = ""

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
    def reason_why_not(self) -> str:
        """Why it was not made."""
        return str(self.content.get("left_out") or self.content.get("error") or "it is not in the folder")

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
    title = html(re.sub(r" \(Figure [\w.]+\)", "", shown.entry.title))
    name = escape(_name(shown))
    return f"{title} <code>{name}</code>" if shown.is_beyond else f"{name}: {title}"


def _made(shown: Shown) -> str:
    rows = []
    for claim in shown.content["claims"]:
        threshold = escape(claim["threshold"]).replace("-", "−")
        holds = verdict(claim["verdict"] == "holds")
        rows.append((html(claim["text"]), _number(claim["measured"]), threshold, holds))
    heads = ("Claim", "Measured", "Threshold", "Verdict")
    claims = table(f"Claims of {shown.entry.key}", heads, rows, "claims")
    return f"{_record(shown)}{_picture(shown)}\n{claims}\n{_made_how(shown.content)}"


def _record(shown: Shown) -> str:
    if not shown.instead_of:
        words = f'<p class="missing"><strong>Made otherwise:</strong> {_sentence(shown.otherwise)}</p>\n'
        return words if shown.otherwise else ""
    return (
        f'<p class="missing"><strong>On record, not made anew:</strong> {_sentence(shown.instead_of)} '
        "Below is a run at the sizes of the paper that comes with Tacit, with the thresholds of its day; "
        "the sizes are those of its several calls.</p>\n"
    )


def _number(value: float | None) -> str:
    return "nothing to measure" if value is None else f"{value:.4g}".replace("-", "−")


def _picture(shown: Shown) -> str:
    """The picture at two of its pixels to one of the page, and at all of them in a box that scrolls."""
    assert shown.picture is not None
    width, height = struct.unpack(">II", shown.picture[16:24])  # of PNG's first chunk
    data = base64.b64encode(shown.picture).decode()
    more = _caption(shown)
    caption = f"\n<figcaption>{more}</figcaption>" if more else ""
    said = "The caption says what is drawn, the table" if more else "The table"
    name = _name(shown)
    alt = escape(f"Plot of {name}: {shown.entry.title}. {said} below has its claims and their numbers.")
    kind = ' class="tall"' if height > width else ""
    size = f'width="{width // 2}" height="{height // 2}"'
    box = '<input type="checkbox" autocomplete="off">'
    full = f'<label class="full">{box} {escape(name)} at full size</label>'
    image = f'<img{kind} src="data:image/png;base64,{data}" {size} alt="{alt}">'
    return f'<figure><div class="view">{image}\n{full}</div>{caption}</figure>'


def _name(shown: Shown) -> str:
    name = shown.entry.key.partition("/")[2]
    return name if shown.is_beyond else f"Figure {name[3:]}"


def _caption(shown: Shown) -> str:
    """Less its first sentence, which the heading has."""
    return html(shown.entry.caption.partition(". ")[2])


def _made_how(content: Mapping[str, Any]) -> str:
    made_with = content.get("made_with", {})
    parameters = ", ".join(f"{name} {_plain(value)}" for name, value in content["parameters"].items())
    versions = ", ".join(f"{NAMES.get(name, name)} {value}" for name, value in made_with.items())
    device = f" ({content['device']})" if "device" in content else ""
    rows = {
        "Command": f"<code>{escape(command(content))}</code>",
        "Sizes": escape(parameters) or "none",
        "Run time": escape(f"{content['seconds']:.1f} s{device}"),
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
    caption, command = _caption(shown), f"<code>tacit reproduce {escape(shown.entry.key)}</code>"
    reason = f"<strong>Not made:</strong> {_sentence(shown.reason_why_not)}"
    missing = f'<p class="missing">{reason} Once that is mended, {command} makes it.</p>'
    return f"<p>{caption}</p>\n{missing}" if caption else missing


def _sentence(reason: str) -> str:
    return escape(reason if reason.endswith(("…", ".")) else f"{reason}.")


_PLACES = (
    Path(__file__).with_name("networks"),  # where pyproject.toml has it put when a package is built
    Path(__file__).parents[3] / "docs" / "networks",  # of a working copy
)
_RECORDED = ("python", "numpy", "jax")


def or_recorded(shown: Shown) -> Shown:
    """The figure itself, if it was made; otherwise what is on record of it, if anything is."""
    if shown.is_made:
        return shown
    for place in _PLACES:
        path, picture = (place / f"{shown.entry.key}.{kind}" for kind in ("json", "png"))
        if path.is_file() and picture.is_file():
            content = _content(json.loads(path.read_text(encoding="utf-8")))
            found = replace(shown, content=content, picture=picture.read_bytes())
            return replace(found, instead_of=shown.reason_why_not)
    return shown


def _content(content: Mapping[str, Any]) -> dict[str, Any]:
    """What the calls took together, on what machine; drawing took the second that the file has itself."""
    calls = content["parameters"]["calls"]
    sizes: dict[str, list[Any]] = {}
    for call in calls:
        for name, value in call["parameters"].items():
            sizes.setdefault(name, [])
            sizes[name] += [value] * (value not in sizes[name])
    return {
        **content,
        "parameters": {name: values[0] if len(values) == 1 else values for name, values in sizes.items()},
        "seconds": sum(call["seconds"] for call in calls),
        "made_with": {name: calls[0][name] for name in _RECORDED},
        "device": calls[0]["device"],
    }
