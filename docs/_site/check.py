"""The site as it was built: links lead somewhere, nothing is fetched, and it can be read without seeing it.

What only a browser sees (contrast, the keyboard, what does not fit) is asked by browser.py.

python docs/_site/check.py docs/_build/html
"""

import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src"}
NOT_FETCHED = {"canonical", "prev", "next", "search", "index", "author", "copyright", "help"}  # of <link>

THEIRS = {"sg-tag-list"}  # sphinx-gallery's, once for each section of an index, and empty


class Page(HTMLParser):
    """What a page links to, what it fetches, and its anchors, headings and pictures without words."""

    def __init__(self, text):
        super().__init__()
        self.links, self.fetched, self.anchors, self.levels, self.silent = [], [], set(), [], []
        self.ids, self.tags, self.language, self.empty = [], set(), None, []
        self.link = None  # the address and the words of the one that is open
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.add(tag)
        self.ids += [attrs["id"]] if attrs.get("id") else []
        self.language = attrs.get("lang") if tag == "html" else self.language
        if tag == "a" and attrs.get("href"):
            self.empty += [self.link[0]] if self.link and not self.link[1] else []  # browsers end it here
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
        if tag == "img" and attrs.get("alt") is None:  # "" says that it is for the eye only
            self.silent.append(attrs.get("src"))
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self.levels.append(int(tag[1]))

    def handle_data(self, data):
        if self.link:
            self.link[1] += data.strip()

    def handle_endtag(self, tag):
        if tag == "a" and self.link:
            self.empty += [] if self.link[1] else [self.link[0]]
            self.link = None


def unreadable(page):
    """What keeps those from reading a page who do not see it, a line each."""
    if not page.language:
        yield "its language is not said (lang)"
    if "main" not in page.tags:
        yield "it has no main part"
    for picture in page.silent:
        yield f"the picture {picture} has no words (alt)"
    for address in page.empty:
        yield f"the link to {address} has no words"
    for name in sorted({each for each in page.ids if page.ids.count(each) > 1} - THEIRS):
        yield f"two places are named {name}"
    for before, after in pairwise(page.levels):
        if after > before + 1:
            yield f"a heading of level {after} is below one of level {before}"


def faults(folder):
    """Everything that is wrong, a line each."""
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
        if page.levels.count(1) != 1 and path.stem not in ("search", "genindex", "py-modindex"):
            yield f"{where}: {page.levels.count(1)} main headings"
    yield from (f"{names}: some disks take these for one file" for names in alike(pages, folder))
    for path in sorted(folder.rglob("*.css")):
        if "url(http" in path.read_text(encoding="utf-8").replace('"', "").replace("'", ""):
            yield f"{path.relative_to(folder)} fetches from the network"


def alike(pages, folder):
    """Pages whose names differ in capitals only."""
    found = {}
    for path in pages:
        found.setdefault(str(path).lower(), []).append(str(path.relative_to(folder)))
    return [" and ".join(names) for names in found.values() if len(names) > 1]


def written(folder):
    """All pages but the templates that themes bring along."""
    return [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts]


def unresolved(address, path, pages):
    """What is wrong with a local link on a page, or nothing."""
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
    found = list(faults(sys.argv[1]))
    print("\n".join(found) or "all links resolve, nothing is fetched, and all can be read without seeing it")
    sys.exit(bool(found))
