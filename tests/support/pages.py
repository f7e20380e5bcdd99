"""The code on the pages of the documentation, and its printed output.

A page is README.md or one under docs/. Its ```python blocks are one program; a ```text block right after one
of them is its printed output. `make docs-outputs` writes these blocks.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
MADE = {"_build", "_examples", "gallery", "generated"}  # by `make docs`
_BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n^```text\n(.*?)^```\n)?", re.M | re.S)
_NUMBER = re.compile(r"[-−+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")
_CLOCK = re.compile(r"\d[\d.]* (?:ms|s|min|steps|Newton steps)\b")  # differs between runs or CPUs
_ROUNDING = 1e-7  # smaller numbers are round-off, or residuals below a tolerance


@dataclass(frozen=True)
class Block:
    """A block of code, its position, and the output shown below it (None if there is none)."""

    code: str
    line: int
    output: str | None
    span: tuple[int, int]  # of the output in the text


def pages():
    """Every page with code, by its path from the root."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    names = [path.relative_to(ROOT) for path in found if not MADE & set(path.parts)]
    return [name.as_posix() for name in names if blocks((ROOT / name).read_text(encoding="utf-8"))]


def blocks(text):
    """The ```python blocks of a page, in order."""
    found = _BLOCK.finditer(text)
    return [Block(each[1], text[: each.start(1)].count("\n"), each[2], each.span(2)) for each in found]


def needs_torch(page):
    return "import torch" in (ROOT / page).read_text(encoding="utf-8")


def run(page):
    """Run the blocks of a page and yield each with its output; files that they write are deleted."""
    text = (ROOT / page).read_text(encoding="utf-8")
    names = {"__name__": "__main__"}
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block in blocks(text):
                code = compile("\n" * block.line + block.code, ROOT / page, "exec")
                with contextlib.redirect_stdout(io.StringIO()) as printed:
                    exec(code, names)
                yield block, printed.getvalue()
        finally:
            os.chdir(before)


def same(printed, written):
    """Whether texts agree, and numbers up to round-off and times."""
    one, other = (_CLOCK.sub("(clock)", text).strip() for text in (printed, written))
    if [line.split() for line in _NUMBER.sub("#", one).splitlines()] != [
        line.split() for line in _NUMBER.sub("#", other).splitlines()
    ]:
        return False
    return all(map(_near, _NUMBER.findall(one), _NUMBER.findall(other)))


def _near(one, other):
    """Whether two numbers agree to the digits shown, or are both round-off."""
    a, b = (float(text.replace("−", "-").replace(",", "").rstrip(".")) for text in (one, other))
    if max(abs(a), abs(b)) < _ROUNDING:
        return True
    digits = max(len(re.sub(r"e.*|[^\d]", "", text).lstrip("0")) for text in (one, other))
    return abs(a - b) <= 2 * 10.0 ** (1 - digits) * max(abs(a), abs(b))


def rewrite(page):
    """Update the ```text blocks with the output; return whether the page changed."""
    path = ROOT / page
    text = path.read_text(encoding="utf-8")
    made = [(block, printed) for block, printed in run(page) if block.output is not None]
    new = text
    for block, printed in reversed(made):
        if not same(printed, block.output):
            new = new[: block.span[0]] + printed + new[block.span[1] :]
    path.write_text(new, encoding="utf-8")
    return new != text


if __name__ == "__main__":
    for name in sys.argv[1:] or pages():
        if needs_torch(name) and find_spec("torch") is None:
            print(name, "left out: it needs PyTorch")
        else:
            print(name, "changed" if rewrite(name) else "as it was")
