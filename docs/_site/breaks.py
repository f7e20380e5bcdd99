"""Allow line breaks in long names in tables and titles, such as paper2020/theorem1 or module.name(x)."""

import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

BREAK = re.compile(
    r"(?<=\w\w[/_])(?=\w\w)|(?<=[a-z]\.)(?=[A-Z]|[a-z]{3})|(?<=[a-z])(?=[A-Z])|(?<=[a-z]{8})(?=\()"
)


class Break(nodes.Inline, nodes.Element):
    """A possible line break."""


class Breaks(SphinxPostTransform):
    """Insert possible line breaks, which are not copied with the text."""

    default_priority = 910  # after indices
    formats = ("html",)

    def run(self, **kwargs):
        for place in self.document.findall(lambda node: isinstance(node, nodes.entry | nodes.title)):
            for text in list(place.findall(nodes.Text)):
                if isinstance(text.parent, nodes.math):
                    continue
                pieces = BREAK.split(text.astext())
                if len(pieces) > 1:
                    text.parent.replace(text, broken(pieces))


def broken(pieces):
    """The parts of a name with a possible line break between any two."""
    found = [nodes.Text(pieces[0])]
    for piece in pieces[1:]:
        found += [Break(), nodes.Text(piece)]
    return found


def write(writer, node):
    writer.body.append("<wbr>")
    raise nodes.SkipNode


def setup(app):
    app.add_node(Break, html=(write, None))
    app.add_post_transform(Breaks)
    return {"parallel_read_safe": True}
