"""Convert the LaTeX of pages to MathML when the site is built.

Browsers display MathML themselves, so that pages need no script and no font from elsewhere.
"""

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.errors import SphinxError

DISPLAYED = '<div class="formula" tabindex="0" role="group" aria-label="formula">{}</div>'


class FormulaError(SphinxError):
    """A formula that cannot be converted."""

    category = "Formula"


def mathml(latex, display):
    """The MathML of a formula. Raises FormulaError for a command that the converter does not know."""
    try:
        found = convert(latex, display=display)
    except Exception as error:
        raise FormulaError(f"{latex!r} cannot be converted: {error!r}") from error
    if "\\" in found.partition(">")[2]:  # unknown commands are copied, not reported
        raise FormulaError(f"{latex!r} contains a command that was not converted")
    return found


def visit_inline(self, node):
    self.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_displayed(self, node):
    self.body.append(DISPLAYED.format(mathml(node.astext(), "block")))
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_displayed, None))
    return {"parallel_read_safe": True}
