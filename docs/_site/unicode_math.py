"""Typeset formulas that pages have as Unicode text, such as ∇Q(w) = Xᵀν.

Errata, items and claims come from docstrings and registrations, which must be readable in a terminal; on
their pages formulas are converted to LaTeX and then to MathML. A formula is a sequence of tokens that
contains a mathematical character; one that cannot be converted stays as it is.
"""

import re
import unicodedata

from docutils import nodes
from indices import VERBATIM, ancestors
from mathml import FormulaError, mathml
from sphinx.transforms.post_transforms import SphinxPostTransform

PAGES = ("claims", "derive-gallery", "errata", "items", "map")

_GREEK = {
    chr(code): f"\\{unicodedata.name(chr(code)).split()[-1].lower().replace('lamda', 'lambda')}"
    for code in (*range(0x3B1, 0x3C2), *range(0x3C3, 0x3CA))
    if unicodedata.name(chr(code)).startswith("GREEK SMALL LETTER")
} | {
    "ε": r"\varepsilon",
    "φ": r"\varphi",
    "Γ": r"\Gamma",
    "Δ": r"\Delta",
    "Θ": r"\Theta",
    "Λ": r"\Lambda",
    "Φ": r"\Phi",
    "Ψ": r"\Psi",
    "Ω": r"\Omega",
}
_SIGNS = {
    "−": "-", "·": r"\cdot ", "×": r"\times ", "∘": r"\circ ", "±": r"\pm ", "∓": r"\mp ", "→": r"\to ",
    "↦": r"\mapsto ", "≤": r"\le ", "≥": r"\ge ", "≪": r"\ll ", "≫": r"\gg ", "≈": r"\approx ", "≠": r"\ne ",
    "∈": r"\in ", "∞": r"\infty ", "∇": r"\nabla ", "∂": r"\partial ", "∫": r"\int ", "Σ": r"\sum ",
    "∏": r"\prod ", "∝": r"\propto ", "⊥": r"\perp ", "…": r"\dots ", "⪰": r"\succeq ", "‖": r"\|",
    "⟨": r"\langle ", "⟩": r"\rangle ", "⊗": r"\otimes ", "Π": r"\prod ", "ℓ": r"\ell ",
    "½": r"\frac{1}{2}", "¼": r"\frac{1}{4}",
    "¾": r"\frac{3}{4}", "′": "'", "%": r"\%", "∗": "*", "∠": r"\angle ", "⇒": r"\Rightarrow ",
}  # fmt: skip
_ACCENTS = {"\u0303": r"\tilde", "\u0302": r"\hat", "\u0304": r"\bar", "\u0307": r"\dot", "\u0306": r"\breve"}
_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ᵀ", [*"0123456789-+", r"\top "], strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋ᵢⱼₖₙₘ", "0123456789+-ijknm", strict=True))
_FUNCTIONS = [
    *("arcsinh", "arctanh", "argmin", "asinh", "atanh", "cosh", "sinh", "tanh", "sign", "sgn", "diag", "exp"),
    *("log", "max", "min", "sup", "inf", "tr", "det", "rank", "std"),
]
_WORD = re.compile(r"[A-Za-z]{2,}")
_NUMBER = re.compile(r"\d[\d,]*\.?\d*(?:e[-−+]?\d+)?")
_ORDINARY = {
    "In",
    "At",
    "Of",
    "On",
    "To",
    "If",
    "It",
    "Is",
    "As",
    "By",
    "Or",
    "No",
    "So",
    "We",
    "An",
    "Be",
    "Do",
}
_PRODUCT = re.compile(r"[A-Z][A-Za-z]|[A-Z]{3}|[xuwσ][twxuμ]|d[A-Za-zτ]")  # such as Xw, UV, dt
_STRONG = re.compile(r"[Α-ωℓ∇∂∫∏√∞≤≥≪≫≈≠→↦∈∘·×±‖⟨⟩⊥½¼¾=∝⪰²³ᵀ⁻₀-₋ᵢⱼₙ\u0302\u0303\u0304]|\w[\^_][\w({−ℓ]|\(−")


def latex(text):
    """The LaTeX of a formula; None if a part of it is unknown."""
    text = _decomposed(text)
    found, place = "", 0
    while place < len(text):
        piece, place = _next(text, place)
        if piece is None:
            return None
        found += piece
    return None if found[:1] in ("^", "_") else found


def _decomposed(text):
    """The text with separate accents; ≠ stays one character."""
    return "".join(each if each == "≠" else unicodedata.normalize("NFD", each) for each in text)


def _next(text, place):
    """The LaTeX of the next part of a formula, and where it ends."""
    letter = text[place]
    for table, mark in ((_RAISED, "^"), (_LOWERED, "_")):
        end = place
        while end < len(text) and text[end] in table:
            end += 1
        if end > place:
            return f"{mark}{{{''.join(map(table.get, text[place:end]))}}}", end
    if letter == "√" or letter in "^_":
        inner, end = _argument(text, place + 1)
        inside = latex(inner) if inner else None
        return (inside and f"{chr(92) + 'sqrt' if letter == '√' else letter}{{{inside}}}"), end
    if number := _NUMBER.match(text, place):
        plain = number[0].replace("−", "-")
        return (rf"\text{{{plain}}}" if "e" in plain or "," in plain else plain), number.end()
    if word := _WORD.match(text, place):
        if word[0] in _FUNCTIONS:
            return rf"\operatorname{{{word[0]}}}", word.end()
        return (word[0] if _is_product(word[0]) else rf"\text{{{word[0]}}}"), word.end()
    following = text[place + 1 : place + 2]
    if following in _ACCENTS:
        inside = _GREEK.get(letter, letter)
        return f"{_ACCENTS[following]}{{{inside}}}", place + 2
    if letter == "ℓ" and re.match(r"[\d∞p]", following):
        return rf"\ell_{{{_SIGNS.get(following, following)}}}", place + 2
    if letter in _GREEK:
        return f"{_GREEK[letter]} ", place + 1
    if text.startswith("Σ_x", place):
        return r"\Sigma ", place + 1
    if letter in _SIGNS:
        return _SIGNS[letter], place + 1
    known = letter.isascii() and (letter.isalnum() or letter in " +-=<>/|()[],.;:'*!{}")
    return ({"{": r"\{", "}": r"\}"}.get(letter, letter) if known else None), place + 1


def _argument(text, place):
    """The argument of a root, a superscript or a subscript, and where it ends."""
    opening = text[place : place + 1]
    if opening in ("(", "{"):
        depth, end = 0, place
        for end in range(place, len(text)):
            depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(text[end], 0)
            if not depth:
                return text[place + 1 : end], end + 1
        return "", len(text)
    if norm := re.compile(r"‖[^‖]*‖").match(text, place):
        return norm[0], norm.end()
    found = re.compile(
        r"[−+-]?(?:max|min|TK|ℓ[\d∞]|[ijkl]{2}|[a-z]{3,}|\d+(?:/\d+)?|[A-Za-zΑ-ω∞⊥*][\u0300-\u036f]?)"
    ).match(text, place)
    return (found[0], found.end()) if found else ("", place)


def _is_product(word):
    return bool(_PRODUCT.fullmatch(word)) and word not in _ORDINARY


def formulas(text):
    """Split a text into pairs (is a formula, piece)."""
    tokens = [token for token in re.split(r"(\s+)", text) if token]
    pieces, run = [], []
    for token in [*tokens, None]:
        if token is not None and (token.isspace() or _is_math(token)):
            run.append(token)
            if token.isspace() or token[-1] not in ",;:." or _open("".join(run)):
                continue
        pieces += _trimmed("".join(run))
        run = []
        if token is not None and not (token.isspace() or _is_math(token)):
            pieces.append((False, token))
    return pieces


def _open(text):
    """Whether a bracket is open, so that a comma does not end the formula."""
    return any(text.count(opening) > text.count(closing) for opening, closing in ("()", "[]", "{}", "⟨⟩"))


def _is_math(token):
    """Whether a token can be a part of a formula: it has no ordinary words."""
    core = token.strip("().,;:[]")
    core = re.sub(r"[\^_](?:\{[^}]*\}|\([^)]*\)|max|min|TK|[a-z]{3,})", "", core)
    words = [word for word in _WORD.findall(_NUMBER.sub("", core)) if word not in _FUNCTIONS]
    if any(not _is_product(word) for word in words):
        return False
    return bool(words) or not re.fullmatch(r"[aAI]", core)


def _trimmed(run):
    """A sequence of tokens as text, formula and text: without the spaces and punctuation around a formula."""
    if not _STRONG.search(_decomposed(run)) or not run.strip():
        return [(False, run)]
    begin, end = len(run) - len(run.lstrip()), len(run.rstrip())
    while end > begin and run[begin] == '"':
        begin += 1
    while end > begin and run[end - 1] in ',;:. "':
        end -= 1
    for opening, closing in ("()", "[]"):
        core = run[begin:end]
        while core.count(closing) > core.count(opening) and core.endswith(closing):
            core, end = core[:-1], end - 1
        while core.count(opening) > core.count(closing) and core.startswith(opening):
            core, begin = core[1:], begin + 1
    if run[begin:end].startswith("(") and run[begin:end].endswith(")") and _encloses(run[begin:end]):
        begin, end = begin + 1, end - 1
    core = run[begin:end]
    if (
        _open(core)
        or any(core.count(x) != core.count(y) for x, y in ("()", "[]", "{}", "⟨⟩"))
        or not core.strip()
    ):
        return [(False, run)]
    return [(False, run[:begin]), (True, core), (False, run[end:])]


def _encloses(text):
    """Whether the first parenthesis is closed by the last one."""
    depth = 0
    for place, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if not depth:
            return place == len(text) - 1
    return False


def typeset(text):
    """The nodes of a text with its formulas; None if it has none that can be converted."""
    found = []
    for is_formula, piece in formulas(text):
        code = latex(piece) if is_formula else None
        try:
            good = bool(code) and bool(mathml(code, "inline"))
        except FormulaError:
            good = False
        found.append(nodes.math(code, code) if good else nodes.Text(piece))
    return found if any(isinstance(each, nodes.math) for each in found) else None


class UnicodeFormulas(SphinxPostTransform):
    """Typeset the formulas in the text of PAGES."""

    default_priority = 850  # before subscripts and superscripts are set
    formats = ("html",)

    def run(self, **kwargs):
        if self.env.current_document.docname not in PAGES:
            return
        for text in list(self.document.findall(nodes.Text)):
            inside = any(isinstance(each, VERBATIM | nodes.title) for each in ancestors(text))
            if not inside and (found := typeset(text.astext())):
                text.parent.replace(text, found)


def setup(app):
    app.add_post_transform(UnicodeFormulas)
    return {"parallel_read_safe": True}
