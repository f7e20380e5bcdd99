"""Add a font for formulas to the site, since many systems have none.

The font is STIX Two Math (SIL Open Font License 1.1), which the package ziamath contains. Only the characters
that formulas use are kept.
"""

from importlib.util import find_spec
from pathlib import Path

from fontTools import subset

CHARACTERS = [
    *range(0x20, 0x7F),  # ASCII
    0xB1,
    0xB7,
    0xD7,
    *range(0x300, 0x30A),  # accents
    *range(0x391, 0x3F6),  # Greek
    *range(0x2016, 0x2040),  # bars, dots, primes
    *range(0x2100, 0x2140),  # letters such as ℓ and ℝ
    *range(0x2190, 0x21D5),  # arrows
    *range(0x2200, 0x2300),  # operators
    *range(0x27E8, 0x27EA),  # angle brackets
    *range(0x1D434, 0x1D468),  # italic letters, to which browsers change those of formulas
    *range(0x1D6E2, 0x1D71C),  # italic Greek
    0x1D53C,  # 𝔼
]
NAME = "stix-two-math.woff"  # in site.css


def source():
    return Path(find_spec("ziamath").origin).parent / "fonts" / "STIXTwoMath-Regular.ttf"


def write(app, failure):
    target = Path(app.outdir) / "_static" / NAME
    if failure or target.exists() or app.builder.format != "html":
        return
    options = subset.Options(flavor="woff", hinting=False, layout_features=["*"])
    font = subset.load_font(source(), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=CHARACTERS)
    subsetter.subset(font)
    subset.save_font(font, target, options)


def setup(app):
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
