"""Superscripts and subscripts in the text of pages and docstrings, as in α^{2−D} or x_n."""

import re
from html import unescape

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

from tacit.report.markup import html

VERBATIM = nodes.literal | nodes.literal_block | nodes.raw | nodes.math | nodes.math_block
KINDS = {"sup": nodes.superscript, "sub": nodes.subscript}
BLOCK = '<div class="highlight-none{} notranslate"><div class="highlight"><pre>{}\n</pre></div></div>'
DOCSTRINGS = "reference/"  # pages whose indented blocks may be code


def parsed(text):
    """The nodes of HTML that contains only sup and sub tags, possibly nested."""
    inside = [nodes.inline()]
    for piece in re.split(r"(</?su[bp]>)", text):
        if piece in ("<sup>", "<sub>"):
            inside.append(KINDS[piece[1:4]]())
        elif piece in ("</sup>", "</sub>"):
            done = inside.pop()
            inside[-1] += done
        elif piece:
            inside[-1] += nodes.Text(unescape(piece))
    return inside[0].children


def set_text(root):
    """Set superscripts and subscripts in the text below a node."""
    for text in list(root.findall(nodes.Text)):
        if not any(isinstance(each, VERBATIM) for each in ancestors(text)):
            found = html(text.astext())
            if "<su" in found:
                text.parent.replace(text, parsed(found))


class Titles(SphinxTransform):
    """Set them in titles as soon as they are read, for tables of contents."""

    default_priority = 880

    def apply(self, **kwargs):
        for title in self.document.findall(nodes.title):
            set_text(title)


class Indices(SphinxPostTransform):
    """Set them in text and in indented blocks, which contain formulas."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs):
        set_text(self.document)
        on_page = not self.env.current_document.docname.startswith(DOCSTRINGS)
        for block in list(self.document.findall(nodes.literal_block)):
            found = html(block.astext().rstrip())
            plain = block.get("language", "none") in ("none", "default") and not block["classes"]
            if plain and (on_page or "<su" in found):
                shown = BLOCK.format(" formula" if on_page else "", found)
                block.replace_self(nodes.raw("", shown, format="html"))


def ancestors(node):
    while node.parent is not None:
        node = node.parent
        yield node


def setup(app):
    app.add_transform(Titles)
    app.add_post_transform(Indices)
    return {"parallel_read_safe": True}
