"""Check the built site: links, network requests, accessibility, formulas, and terms that it must explain.

browser.py checks what only a browser can measure (contrast, the keyboard, pages that are too wide).

python docs/_site/check.py docs/_build/html
"""

import re
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src"}
NOT_FETCHED = {"canonical", "prev", "next", "search", "index", "author", "copyright", "help"}  # of <link>

THEIRS = {"sg-tag-list"}  # sphinx-gallery repeats this empty element in each section of an index

FORMULAS = ("theory", "models")  # every page in these folders must contain a typeset formula
NOT_TEXT = {"code", "pre", "script", "style", "math"}
LATEX = re.compile(r"\$|\\[A-Za-z]{2,}")  # a formula that was not recognized
EXPLAINED = (  # terms that readers search for, as entries of the glossary
    "implicit bias",
    "implicit regularization",
    "ntk",
    "lazy training",
    "feature learning",
    "overfitting",
    "minimum norm",
    "basis pursuit",
    "early stopping",
)


class Page(HTMLParser):
    """The links, requests, anchors and headings of a page, images without alternative text, and LaTeX."""

    def __init__(self, text):
        super().__init__()
        self.links, self.fetched, self.anchors, self.levels, self.silent = [], [], set(), [], []
        self.ids, self.tags, self.language, self.empty = [], set(), None, []
        self.link = None  # the address and the text of the link that is open
        self.nested, self.latex = 0, []  # open elements of NOT_TEXT; LaTeX in what is outside of them
        self.words = []
        self.feed(text)
        self.text = " ".join("".join(self.words).lower().split())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.add(tag)
        self.nested += tag in NOT_TEXT
        self.ids += [attrs["id"]] if attrs.get("id") else []
        self.language = attrs.get("lang") if tag == "html" else self.language
        if tag == "a" and attrs.get("href"):
            self.empty += [self.link[0]] if self.link and not self.link[1] else []  # browsers close it here
            self.link = [attrs["href"], attrs.get("aria-label") or attrs.get("title") or ""]
        if self.link and tag == "img":
            self.link[1] += attrs.get("alt") or ""
        self.anchors |= {attrs[name] for name in ("id", "name") if attrs.get(name)}
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        if tag in FETCHED and attrs.get(FETCHED[tag]):
            self.fetched.append(attrs[FETCHED[tag]])
        if tag == "link" and attrs.get("href") and attrs.get("rel") not in NOT_FETCHED:
            self.fetched.append(attrs["href"])
        if tag == "img" and attrs.get("alt") is None:  # "" marks a decorative image
            self.silent.append(attrs.get("src"))
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self.levels.append(int(tag[1]))

    def handle_data(self, data):
        if not self.nested:
            self.latex += LATEX.findall(data)
            self.words.append(data)
        if self.link:
            self.link[1] += data.strip()

    def handle_endtag(self, tag):
        self.nested -= tag in NOT_TEXT
        if tag == "a" and self.link:
            self.empty += [] if self.link[1] else [self.link[0]]
            self.link = None


def unreadable(page):
    """Properties that make a page inaccessible to screen readers, one line each."""
    if not page.language:
        yield "its language is not specified (lang)"
    if "main" not in page.tags:
        yield "it has no main part"
    for picture in page.silent:
        yield f"the image {picture} has no alternative text"
    for address in page.empty:
        yield f"the link to {address} has no text"
    for name in sorted({each for each in page.ids if page.ids.count(each) > 1} - THEIRS):
        yield f"two elements have the id {name}"
    for before, after in pairwise(page.levels):
        if after > before + 1:
            yield f"a heading of level {after} is below one of level {before}"


def untypeset(page, where):
    """Formulas that are missing or were left as LaTeX, one line each."""
    if where.parts[0] in FORMULAS and "math" not in page.tags:
        yield "it has no typeset formula"
    for command in sorted(set(page.latex)):
        yield f"{command} is left in the text: a formula was not typeset"


def unexplained(folder):
    """Terms of EXPLAINED without an entry in the glossary, or that no other page uses, one line each."""
    pages = {path.stem: Page(path.read_text(encoding="utf-8")) for path in written(Path(folder))}
    entries = {each.lower() for each in pages.pop("glossary").ids}
    for term in EXPLAINED:
        if f"term-{term.replace(' ', '-')}" not in entries:
            yield f"glossary.html: {term} has no entry"
        if not any(term in page.text for page in pages.values()):
            yield f"glossary.html: {term} is on no other page"


INTERNAL = ("as_neuron", "kernel_work", "lifted")  # methods that are not for users


def undocumented(folder):
    """Pages of public names without an example or source link, or with internal methods, one line each."""
    for path in sorted(Path(folder, "reference", "generated").glob("tacit.*.html")):
        text = path.read_text(encoding="utf-8")
        if not re.search(r'<dt class="sig sig-object py" id="tacit', text):
            continue  # a module
        if ">Examples<" not in text:
            yield f"{path.name}: no example"
        if "viewcode-link" not in text:
            yield f"{path.name}: no link to the source"
        yield from (f"{path.name}: {name} is internal" for name in INTERNAL if f'.{name}"' in text)


def faults(folder):
    """All faults, one line each."""
    folder = Path(folder).resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in written(folder)}
    for path, page in pages.items():
        where = path.relative_to(folder)
        for address in page.links + page.fetched:
            if not urlsplit(address).scheme and (wrong := unresolved(address, path, pages)):
                yield f"{where}: {address}: {wrong}"
        for address in page.fetched:
            if urlsplit(address).netloc:
                yield f"{where}: {address} is fetched from the network"
        yield from (f"{where}: {wrong}" for wrong in unreadable(page))
        yield from (f"{where}: {wrong}" for wrong in untypeset(page, where))
        if page.levels.count(1) != 1 and path.stem not in ("search", "genindex", "py-modindex"):
            yield f"{where}: {page.levels.count(1)} main headings"
    yield from (f"{names}: the same file on a case-insensitive file system" for names in alike(pages, folder))
    for path in sorted(folder.rglob("*.css")):
        if "url(http" in path.read_text(encoding="utf-8").replace('"', "").replace("'", ""):
            yield f"{path.relative_to(folder)} fetches from the network"


def alike(pages, folder):
    """Pages whose names differ in capitalization only."""
    found = {}
    for path in pages:
        found.setdefault(str(path).lower(), []).append(str(path.relative_to(folder)))
    return [" and ".join(names) for names in found.values() if len(names) > 1]


def written(folder):
    """All pages except the templates of the theme."""
    return [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts]


def unresolved(address, path, pages):
    """The fault of a local link, or an empty string."""
    if address.startswith("//"):
        return "is on another host"
    name, anchor = urldefrag(address)
    target = (path.parent / unquote(urlsplit(name).path)).resolve() if name else path
    if not target.exists():
        return "there is no such file"
    if anchor and target in pages and unquote(anchor) not in pages[target].anchors:
        return "there is no such place on that page"
    return ""


if __name__ == "__main__":
    found = [*faults(sys.argv[1]), *unexplained(sys.argv[1]), *undocumented(sys.argv[1])]
    print("\n".join(found) or "links, network, accessibility, formulas, glossary and reference: no faults")
    sys.exit(bool(found))
