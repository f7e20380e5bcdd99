"""The documentation: its code runs and prints what it says, its links resolve, every public name is in it."""

import importlib
import inspect
import re
import sys

import pages
import pytest

import tacit
from tacit.papers import figures

sys.path.insert(0, str(pages.ROOT / "docs" / "_site"))
import check
import gallery

REFERENCE = (pages.ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
MODULES = [line.strip() for line in REFERENCE.splitlines() if re.fullmatch(r" +tacit[\w.]*", line)]
TORCH = [pytest.param(page, marks=pytest.mark.torch) for page in pages.pages() if pages.needs_torch(page)]


@pytest.mark.parametrize("page", [*(page for page in pages.pages() if not pages.needs_torch(page)), *TORCH])
def test_code_runs_and_prints_what_stands_below_it(page):
    if pages.needs_torch(page):
        pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
    for block, printed in pages.run(page):
        if block.output is not None:
            assert pages.same(printed, block.output), f"line {block.line}: prints\n{printed}"


def test_outputs_are_compared_as_numbers():
    assert pages.same("error 3e-16, 4 ms\n", "error 1e-14, 95 ms")
    assert pages.same("at 0.1234", "at  0.1235")
    assert not pages.same("at 0.1234", "at 0.1294")
    assert not pages.same("at 0.1234", "in 0.1234")
    assert not pages.same("one\ntwo", "one two")


def test_every_module_for_users_is_in_the_reference():
    """All but `losses` and `potentials` are modules that `tacit` has besides its names."""
    beside = {f"tacit.{name}" for name in dir(tacit) if inspect.ismodule(getattr(tacit, name, None))}
    assert beside <= set(MODULES)
    assert "tacit" in MODULES


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_documented(module):
    """The reference has the names of __all__; whatever is public of a class too, but for plain fields."""
    home = importlib.import_module(module)
    assert inspect.getdoc(home)
    silent = []
    for name in home.__all__:
        item = getattr(home, name)
        text = inspect.getdoc(item) or ""
        if not text or (inspect.isclass(item) and text.startswith(f"{name}(")):
            silent.append(name)
        if inspect.isclass(item) and item.__module__.startswith("tacit"):
            silent += [f"{name}.{each}" for each, part in vars(item).items() if is_silent(each, part)]
    assert silent == []


def is_silent(name, part):
    """Is it public, more than a field, and without words?"""
    speaks = callable(part) or isinstance(part, property)
    return speaks and not name.startswith("_") and not inspect.getdoc(part)


def links(text):
    """Addresses in Markdown, of links and pictures, outside of code."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text))


def test_figures_on_pages_are_those_of_the_gallery():
    """Which are of the registry, and made by `make docs`."""
    assert {entry.key for entry in figures()} >= set(gallery.SHORT)
    made = {f"{key.split('/')[0]}/images/sphx_glr_{gallery.name_of(key)}_001.png" for key in gallery.SHORT}
    shown = [
        address.split("gallery/")[1]
        for path in (pages.ROOT / "docs").rglob("*.md")
        for address in links(path.read_text(encoding="utf-8"))
        if "/images/sphx_glr" in address
    ]
    assert shown and set(shown) <= made


def test_links_on_pages_lead_to_files():
    """But for those into the gallery."""
    root = pages.ROOT
    texts = [root / "README.md", root / "CONTRIBUTING.md", *(root / "docs").rglob("*.md")]
    broken = []
    for path in texts:
        for address in links(path.read_text(encoding="utf-8")):
            name = address.partition("#")[0]
            made = "gallery/" in name or re.match(r"https?:", name)
            if name and not made and not (path.parent / name).exists():
                broken.append(f"{path.relative_to(root)}: {address}")
    assert broken == []


def test_the_front_page_is_short():
    assert len((pages.ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150


SITE = {
    "index.html": '<h1 id="top">A</h1><a href="b.html#here">b</a><img src="p.png" alt="">',
    "b.html": '<h1>B</h1><p id="here"></p><a href="index.html#top"></a><a href="https://example.org">x</a>',
    "p.png": "",
}
FAULTS = {
    "no such file": '<a href="c.html"></a>',
    "no such place": '<a href="index.html#nowhere"></a>',
    "fetched": '<script src="https://example.org/x.js"></script>',
    "no words": '<img src="p.png">',
    "main headings": "<h1>again</h1>",
}


@pytest.mark.parametrize("fault", [None, *FAULTS])
def test_faults_of_a_site_are_found(fault, tmp_path):
    for name, text in SITE.items():
        (tmp_path / name).write_text(text + FAULTS.get(fault, "") * (name == "b.html"))
    found = list(check.faults(tmp_path))
    assert [fault in line for line in found] == ([True] if fault else [])
