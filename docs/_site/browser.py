"""Check pages in a browser, wide and narrow, light and dark, and take screenshots.

    python docs/_site/browser.py docs/_build/html report.html --pictures shots

Accessibility is checked by axe (contrast, text, headings, landmarks, keyboard access). In addition, pages
must not send requests to the network, write to the console, or be wider than the screen.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
SCHEMES = ("light", "dark")
AXE = {"resultTypes": ["violations"], "preload": False}  # style sheets are not loaded again
WIDER = """[document.documentElement, ...document.querySelectorAll(".bd-article-container")]
    .some((each) => each.scrollWidth > each.clientWidth + 1)"""  # the article has its own scroll bar
STEP = 20  # pages between two progress lines


def pages(places):
    """The pages below folders, and files."""
    for place in map(Path, places):
        found = sorted(place.rglob("*.html")) if place.is_dir() else [place]
        yield from ((path, path.relative_to(place) if place.is_dir() else path) for path in found)


def looked_at(browser, path, name, pictures):
    """Yield the faults of a page, one line each."""
    for size, (width, height) in SIZES.items():
        screen = {"width": width, "height": height}
        view = browser.new_context(viewport=screen, reduced_motion="reduce")
        page = view.new_page()
        said, asked = [], []
        page.on(
            "console", lambda each, said=said: each.type in ("error", "warning") and said.append(each.text)
        )
        page.on("pageerror", lambda each, said=said: said.append(str(each)))
        page.on("request", lambda each, asked=asked: asked.append(each.url))
        page.goto(path.resolve().as_uri(), wait_until="load")
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            where = f"{name} ({size}, {scheme})"
            yield from (f"{where}: {line}" for line in violations(page))
            if pictures:
                page.screenshot(path=pictures / f"{name.with_suffix('')}-{size}-{scheme}.png", full_page=True)
        if page.evaluate(WIDER):
            yield f"{name} ({size}): it is wider than the screen"
        yield from (f"{name} ({size}): the console reports: {text}" for text in said)
        fetched = {url for url in asked if not url.startswith(("file:", "data:", "blob:"))}
        yield from (f"{name} ({size}): {url} is requested from the network" for url in sorted(fetched))
        view.close()


def violations(page):
    """The violations that axe finds, with the first place of each."""
    for rule in Axe().run(page, options=AXE).response["violations"]:
        first = rule["nodes"][0]
        place, more = first["target"][0], len(rule["nodes"]) - 1
        detail = " ".join(first["failureSummary"].split())
        yield f"{rule['impact']}: {rule['id']} at {place} and {more} more: {detail}"


def tell(seen, count):
    """Report progress: continuously in a terminal, otherwise every few pages."""
    if sys.stderr.isatty():
        print(f"{seen} pages, {count} faults", end="\r", file=sys.stderr, flush=True)
    elif seen % STEP == 0:
        print(f"{seen} pages, {count} faults", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("places", nargs="+", metavar="PLACE", help="a page, or a folder of them")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="write pictures of all pages there")
    options = parser.parse_args()
    browser_file = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    count = seen = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_file, args=["--no-sandbox"])
        for path, name in pages(options.places):
            if "_static" in path.parts:
                continue  # templates of the theme
            seen += 1
            for line in looked_at(browser, path, name, options.pictures):
                print(line, flush=True)
                count += 1
            tell(seen, count)
        browser.close()
    print(f"{count} faults on {seen} pages")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
