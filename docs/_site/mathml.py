"""Convert the LaTeX of pages to MathML when the site is built.

Browsers display MathML themselves, so that pages need no script. `tidy` corrects spaces and delimiters that
the converter leaves to the browser and that TeX would set differently.
"""

import xml.etree.ElementTree as ET
from itertools import pairwise

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.errors import SphinxError

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
DISPLAYED = '<div class="formula" tabindex="0" role="group" aria-label="formula">{}</div>'
SCRIPTS = {"msub", "msup", "msubsup", "munder", "mover", "munderover"}
BARS = "|‖"
SIGNS = "±−+"
CLOSING = (")", "]", "⟩", "!", "′")
LIMITS = ("min", "max", "lim", "argmin")
DOUBLE_STRUCK = {"R": "ℝ", "E": "𝔼", "N": "ℕ", "P": "ℙ"}  # browsers ignore mathvariant
THIN = "0.167em"
PUNCTUATION = (",", ".", ";", ":", ")", "?", "!")


class FormulaError(SphinxError):
    """A formula that cannot be converted."""

    category = "Formula"


def mathml(latex, display):
    """The MathML of a formula. Raises FormulaError for a command that the converter does not know."""
    try:
        root = ET.fromstring(convert(latex, display=display))
    except Exception as error:
        raise FormulaError(f"{latex!r} cannot be converted: {error!r}") from error
    if any("\\" in (each.text or "") for each in root.iter()):  # unknown commands are copied, not reported
        raise FormulaError(f"{latex!r} contains a command that was not converted")
    for each in root.iter():
        each.tag = each.tag.rpartition("}")[2]
    tidy(root, latex)
    root.set("xmlns", NAMESPACE)
    return ET.tostring(root, encoding="unicode")


def tidy(root, latex):
    """Set letters, delimiters and spaces as TeX does."""
    opened = set()
    for each in root.iter():
        if "mathvariant" in each.attrib:
            each.text = double_struck(each, latex)
        if each.tag == "mspace" and each.get("width", "").startswith("negative"):
            each.set("width", "-" + THIN)
        if each.tag == "mi" and each.text in tuple("±⟨⟩"):
            each.tag = "mo"
        if each.tag == "mo" and each.text in "∞∂":
            each.tag = "mi"
        if each.tag == "mo" and each.text in "⟨⟩":
            each.attrib |= {"stretchy": "false", "form": "prefix" if each.text == "⟨" else "postfix"}
        if each.tag in ("msup", "msubsup") and each[-1].text == "′":
            lower_prime(each)
        if each.tag == "mo" and each.text == "/":
            each.attrib |= {"lspace": "0", "rspace": "0"}
        if each.tag == "mo" and each.text in BARS and each.get("fence") != "true":  # not of \\left … \\right
            delimit(each, opened)
    for parent in list(root.iter()):
        if parent.tag not in SCRIPTS:
            space_signs(parent)
            space_functions(parent)
        if parent.tag == "msub" and parent[0].text in LIMITS and root.get("display") == "block":
            parent.tag = "munder"


def lower_prime(script):
    """The character is raised already: as a superscript it would be small and too high."""
    base, prime = script[0], script[-1]
    prime.tag, prime.attrib = "mo", {"lspace": "0", "rspace": "0"}
    if script.tag == "msup":
        script.tag = "mrow"
        return
    below = script[1]
    row = ET.Element("mrow")
    row.extend([base, prime])
    script.tag = "msub"
    script[:] = [row, below]


def double_struck(letter, latex):
    """The Unicode character for \\mathbb, the only alphabet that is used."""
    variant = letter.attrib.pop("mathvariant")
    if variant == "normal":
        letter.set("mathvariant", "normal")
        return letter.text
    if variant != "double-struck" or letter.text not in DOUBLE_STRUCK:
        raise FormulaError(f"{latex!r} has the letter {letter.text} in an alphabet that browsers do not show")
    return DOUBLE_STRUCK[letter.text]


def delimit(bar, opened):
    """A bar opens and closes in turn; browsers would take one in the middle for a relation."""
    closing = bar.text in opened
    opened ^= {bar.text}
    form = "postfix" if closing else "prefix"
    bar.attrib |= {"form": form, "stretchy": "false", "lspace": "0", "rspace": "0"}


def space_signs(parent):
    """No spaces after a sign that begins a term, as in a = −b."""
    for before, sign in pairwise([None, *parent]):
        if sign.tag == "mo" and sign.text in SIGNS and (before is None or not ends_term(before)):
            sign.set("form", "prefix")


def ends_term(element):
    """Whether a sign after it stands between two terms."""
    delimiter = element.get("form") == "postfix" or element.text in CLOSING
    return delimiter or element.tag not in ("mo", "mspace")


def space_functions(parent):
    """Thin spaces around the names of functions, as in a log b."""
    children = list(parent)
    for child in children:
        name = child[0] if child.tag in SCRIPTS else child
        if not is_function(name):
            continue
        name.tag = "mi"
        at = list(parent).index(child)
        following = children[children.index(child) + 1 :][:1]
        if following and not opens(following[0]):
            parent.insert(at + 1, ET.Element("mspace", {"width": THIN}))
        before = parent[at - 1] if at else None
        if before is not None and (before.tag not in ("mo", "mspace") or before.get("form") == "postfix"):
            parent.insert(at, ET.Element("mspace", {"width": THIN}))


def is_function(element):
    """Whether it is the name of a function, such as log or min."""
    return element.tag in ("mi", "mo") and len(element.text or "") > 1 and element.text.isalpha()


def opens(element):
    """Whether it begins with a delimiter or an operator, before which TeX sets no space."""
    while element.tag == "mrow" and len(element):
        element = element[0]
    return element.tag == "mspace" or (element.tag == "mo" and element.text not in BARS)


def visit_inline(self, node):
    self.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_displayed(self, node):
    self.body.append(DISPLAYED.format(mathml(node.astext(), "block")))
    raise nodes.SkipNode


def keep_together(_app, doctree, _name):
    """Prevent line breaks between a formula and a punctuation mark after it."""
    for formula in list(doctree.findall(nodes.math)):
        text = formula.next_node(descend=False, siblings=True)
        if isinstance(text, nodes.Text) and text.startswith(PUNCTUATION):
            text.parent.replace(text, nodes.Text(text[1:]))
            unbroken = nodes.inline("", "", formula.deepcopy(), nodes.Text(text[0]), classes=["unbroken"])
            formula.parent.replace(formula, unbroken)


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_displayed, None))
    app.connect("doctree-resolved", keep_together, priority=900)
    return {"parallel_read_safe": True}
