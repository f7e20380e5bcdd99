"""Figures in the report, with their claims, how they were made, and in which settings they differ.

Figures that need large data sets are shown in a recorded version at the sizes of the paper.
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
from tacit.papers.pages import figures_of
from tacit.papers.reproduction import Entry
from tacit.report.markup import anchor, coloured_verdict, html, link, table

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


@dataclass(frozen=True)
class Shown:
    """A figure, the content of its JSON file ("left_out" or "error" if it was not made), and its PNG.

    instead_of: the reason why it was not made, if a recorded version is shown. otherwise: the settings in
    which it differs from this software or from the other figures.
    """

    entry: Entry
    content: Mapping[str, Any]
    picture: bytes | None
    instead_of: str = ""
    otherwise: str = ""

    @property
    def is_made(self) -> bool:
        """Whether there is a picture."""
        return self.picture is not None and "claims" in self.content

    @property
    def counts(self) -> tuple[int, int]:
        """The number of claims that hold, and of claims that fail."""
        claims = self.content.get("claims", ())
        held = sum(claim["verdict"] == "holds" for claim in claims)
        return held, len(claims) - held

    @property
    def reason_why_not(self) -> str:
        """The reason why the figure was not made."""
        return str(
            self.content.get("left_out") or self.content.get("error") or "it is not in the folder of figures"
        )

    @property
    def is_beyond(self) -> bool:
        """Whether the figure is not in the paper. In a collection without numbered figures the answer is
        always False."""
        paper, _, name = self.entry.key.partition("/")
        numbered = any(each.key.startswith(f"{paper}/fig") for each in figures_of(paper))
        return numbered and not name.startswith("fig")


def panel(shown: Shown) -> str:
    """The figure as an HTML article."""
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
        holds = coloured_verdict(claim["verdict"] == "holds")
        rows.append((html(claim["text"]), _number(claim["measured"]), threshold, holds))
    heads = ("Claim", "Measured", "Threshold", "Verdict")
    claims = table(f"Claims of {shown.entry.key}", heads, rows, "claims")
    return f"{_record(shown)}{_picture(shown)}\n{claims}\n{_made_how(shown.content)}"


def _record(shown: Shown) -> str:
    if not shown.instead_of:
        words = f'<p class="missing"><strong>Made differently:</strong> {_sentence(shown.otherwise)}</p>\n'
        return words if shown.otherwise else ""
    return (
        f'<p class="missing"><strong>Recorded version:</strong> {_sentence(shown.instead_of)} '
        "This is a recorded run at the sizes of the paper, with the thresholds at the time of recording; "
        "the sizes are those of its several calls.</p>\n"
    )


def _number(value: float | None) -> str:
    return "no measured claims" if value is None else f"{value:.4g}".replace("-", "−")


def _picture(shown: Shown) -> str:
    """The picture at half its resolution, and at full size in a scrollable box."""
    assert shown.picture is not None
    width, height = struct.unpack(">II", shown.picture[16:24])  # from the first chunk of the PNG
    data = base64.b64encode(shown.picture).decode()
    more = _caption(shown)
    caption = f"\n<figcaption>{more}</figcaption>" if more else ""
    said = "The caption describes it; the table" if more else "The table"
    name = _name(shown)
    alt = escape(f"Plot of {name}: {shown.entry.title}. {said} below lists its claims and their numbers.")
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
    """The caption without its first sentence, which is the heading."""
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
    """The command that reproduces the figure."""
    return f"tacit reproduce {content['figure']} --preset {content['preset']} --seed {content['seed']}"


def _not_made(shown: Shown) -> str:
    caption, command = _caption(shown), f"<code>tacit reproduce {escape(shown.entry.key)}</code>"
    reason = f"<strong>Not made:</strong> {_sentence(shown.reason_why_not)}"
    missing = f'<p class="missing">{reason} To make it after resolving this, run {command}.</p>'
    return f"<p>{caption}</p>\n{missing}" if caption else missing


def _sentence(reason: str) -> str:
    return escape(reason if reason.endswith(("…", ".")) else f"{reason}.")


_PLACES = (
    Path(__file__).with_name("networks"),  # in an installed package (pyproject.toml)
    Path(__file__).parents[3] / "docs" / "networks",  # in a checkout
)
_RECORDED = ("python", "numpy", "jax")


def or_recorded(shown: Shown) -> Shown:
    """The figure itself if it was made; otherwise its recorded version, if there is one."""
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
    """The recorded content, with the total time of its calls and the machine instead of the drawing time."""
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
