"""Remove links from the pages of source code to documentation that does not exist.

sphinx.ext.viewcode links an object that is public in several modules to its page, but under the name of the
wrong module.
"""

import re
from pathlib import Path

from check import Page, unresolved

BACK = re.compile(r'<a class="viewcode-back" href="([^"]*)">\[docs\]</a>')


def remove_broken(app, error):
    """Remove the broken links after the site is built."""
    folder = Path(app.outdir, "_modules")
    if error or not folder.is_dir():
        return
    documented = {}
    for path in sorted(folder.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        for target in {(path.parent / link.partition("#")[0]).resolve() for link in BACK.findall(text)}:
            if target.exists() and target not in documented:
                documented[target] = Page(target.read_text(encoding="utf-8"))
        kept = BACK.sub(lambda link, at=path: "" if unresolved(link[1], at, documented) else link[0], text)
        if kept != text:
            path.write_text(kept, encoding="utf-8")


def setup(app):
    app.connect("build-finished", remove_broken)
    return {"parallel_read_safe": True}
