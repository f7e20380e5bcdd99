"""Convert docstrings (Unicode prose, `names` in backticks, indented formulas) to reStructuredText.

Bars, stars and underscores in formulas are not markup, and indented blocks stay as they are. A public name in
backticks, in docstrings and on pages, or among the types of a section becomes a link to its documentation.
"""

import importlib
import inspect
import re
import textwrap
import zlib
from collections import Counter
from pathlib import Path

import gallery
import sections
from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

import tacit

MODULES = ("estimators", "losses", "papers", "potentials", "theorems", "warping")
BEFORE_NUMPYDOC = 400
# Methods that other modules of Tacit call, but users need not: they are not in the reference.
INTERNAL = ("as_inputs", "as_neuron", "family", "kernel_work", "lifted", "on", "picture", "status")
_NAME = re.compile(r"^~?((?:tacit\.)?\w+(?:\.\w+)?)(?:\(.*\))?$")
_SPANS = re.compile(r"(`[^`]+`|(?<![\w*])\*\w[\w ]*\*(?![\w*]))")


def public_names():
    """Every public name with the module that documents it, the first one in which the object is public."""
    homes = {}
    for module in MODULES:
        home = importlib.import_module(f"tacit.{module}")
        for name in home.__all__:
            yield module, name, homes.setdefault(id(getattr(home, name)), f"tacit.{module}.{name}")


def targets():
    """The object of each name in backticks: limit, tacit.limit, Hypentropy, potentials.Hypentropy, …"""
    found = {f"tacit.{module}": ("mod", f"tacit.{module}") for module in MODULES}
    for module, name, full in public_names():
        found |= dict.fromkeys((f"tacit.{module}.{name}", f"{module}.{name}", name), ("obj", full))
    for name in set(tacit.__all__) - set(MODULES):
        found |= dict.fromkeys((f"tacit.{name}", name), ("obj", f"tacit.{name}"))
    return found


def documented_elsewhere():
    """Full names that are documented on the page of another module."""
    return [
        f"tacit.{module}.{name}" for module, name, full in public_names() if full != f"tacit.{module}.{name}"
    ]


TARGETS = targets()


def file_names():
    """File names for names that differ in capitalization only, such as limit and Limit."""
    names = sorted({full for _, full in TARGETS.values()})
    alike = Counter(name.lower() for name in names)
    return {name: f"{name}-function" for name in names if alike[name] > 1}


def target(text):
    """(role, full name) of a public name, or None; single words only if they are unambiguous."""
    match = _NAME.match(text.strip())
    name = match[1] if match else ""
    if "." not in name and not name[:1].isupper():
        return None
    return TARGETS.get(name)


def as_rst(text):
    """The text of a docstring as reStructuredText with numpydoc sections."""
    out = []
    for heading, body in sections.parts(text):
        out += ["", heading, "-" * len(heading)] if heading else []
        if heading in sections.LISTS:
            for entry, kind, words in sections.entries(body):
                out += [f"{entry} : {typed(kind)}" if kind else typed(entry) if single(heading) else entry]
                out += textwrap.indent("\n".join(prose(words)), "    ").split("\n")
        else:
            out += body.split("\n") if heading == "See Also" else prose(body)
    return out


def single(heading):
    """Whether entries without a colon are types instead of names."""
    return heading in ("Returns", "Raises")


def prose(text):
    """Paragraphs as reStructuredText; formulas are indented, examples stay as they are."""
    out = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        if paragraph.startswith(">>>"):
            out += [*paragraph.split("\n"), ""]
        elif all(row.startswith("    ") for row in paragraph.split("\n") if row):
            out += ["::", "", *paragraph.split("\n"), ""]
        else:
            out += ["".join(map(escaped, _SPANS.split(paragraph))), ""]
    return "\n".join(out).split("\n")


def typed(kind):
    """The text of a type, with links for public names."""
    words = re.split(r"([A-Z]\w+)", kind)
    return "".join(
        f":py:obj:`{word} <{TARGETS[word][1]}>`" if word in TARGETS else escaped(word) for word in words
    )


def escaped(piece):
    """A piece of a paragraph: a name, an emphasized word, or anything else."""
    if piece.startswith("`") and piece.endswith("`") and len(piece) > 1:
        found = target(piece[1:-1])
        shown = piece[1:-1].replace("\n", " ")
        return f":py:{found[0]}:`{shown} <{found[1]}>`" if found else f"``{shown}``"
    if _SPANS.fullmatch(piece):
        return piece
    return re.sub(r"_(?!\w)", r"\\_", re.sub(r"([\\*|`])", r"\\\1", piece))


def process(app, what, name, obj, options, lines):
    """Convert a docstring; a method inherits missing sections from the method that it overrides."""
    text = textwrap.dedent("\n".join(lines)).strip("\n")
    if what == "method":
        home, owner, method = name.rsplit(".", 2)
        kind = getattr(importlib.import_module(home), owner)
        text = sections.whole(kind, method) or text
    lines[:] = as_rst(text) if text else lines


def public(app, what, name, obj, options, signature, returns):
    """Remove private arguments, and all arguments of classes that only Tacit constructs."""
    text = inspect.getdoc(obj) or ""
    if what == "class" and sections.names(text, "Attributes") and not sections.names(text, "Parameters"):
        return "", None
    return re.sub(r"(, \*)?, _\w+(=[^,)]*)?", "", signature or "") or None, returns


class LinkNames(SphinxTransform):
    """Link `tacit.limit` on a page to its documentation, and the key of a figure to its gallery page."""

    default_priority = 5

    def apply(self, **kwargs):
        page = self.env.current_document.docname
        for literal in list(self.document.findall(nodes.literal)):
            found = None if linked(literal) or literal.get("classes") else link(literal.astext(), page)
            if found is not None:
                found += literal.deepcopy()
                literal.replace_self(found)


def linked(node):
    """Whether it is part of a link already; links cannot be nested."""
    while node is not None and not isinstance(node, nodes.reference | addnodes.pending_xref):
        node = node.parent
    return node is not None


def link(text, page):
    """A link for code that is a public name or the key of a figure in the gallery; None for other code."""
    name = target(text)
    if name:
        role, full = name
        options = {"refdomain": "py", "reftype": role, "reftarget": full, "refexplicit": True}
        return addnodes.pending_xref("", refdoc=page, **options)
    key = text.removeprefix("tacit reproduce ")
    if key in gallery.SHORT and not page.startswith("gallery/"):
        return nodes.reference("", "", internal=True, refuri="../" * page.count("/") + gallery.page(key))
    return None


def setup(app):
    app.connect("autodoc-process-docstring", process, priority=BEFORE_NUMPYDOC)
    app.connect("autodoc-process-signature", public)
    app.add_transform(LinkNames)
    ways = zlib.crc32(Path(__file__).read_bytes() + Path(sections.__file__).read_bytes())
    return {"parallel_read_safe": True, "env_version": ways}  # pages are read again if these have changed
