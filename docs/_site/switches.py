"""Give the switches of the sidebar, which the theme leaves without a name, an accessible name."""

from pathlib import Path

NAMELESS = '<summary><span class="toctree-toggle"'


def name(app, failure):
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if NAMELESS in text:
            named = NAMELESS.replace("<summary>", '<summary aria-label="Pages of this section">')
            page.write_text(text.replace(NAMELESS, named), encoding="utf-8")


def setup(app):
    app.connect("build-finished", name)
    return {"parallel_read_safe": True}
