"""LaTeX in pages becomes MathML when the site is built: browsers show it without fonts or scripts from elsewhere."""

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.errors import SphinxError


class FormulaError(SphinxError):
    """A formula that the converter does not understand."""

    category = "Formula"


def mathml(latex, display):
    """The MathML of a formula; an unknown command is an error, not red text on the page."""
    try:
        found = convert(latex, display=display)
    except Exception as error:
        raise FormulaError(f"{latex!r} is not LaTeX that can be converted: {error!r}") from error
    if "\\" in found.partition(">")[2]:
        raise FormulaError(f"{latex!r} has a command that was not converted")
    return found


def visit_inline(self, node):
    self.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(self, node):
    self.body.append(
        f'<div class="formula" tabindex="0" role="group" aria-label="formula">{mathml(node.astext(), "block")}</div>'
    )
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True}
