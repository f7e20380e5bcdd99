"""Statements of Moroshko et al. 2020, and the modules that define them."""

THEOREMS = {
    "inequalities": "dynamics",
    "lemma3": "lemmas",
    "lemma10": "dynamics",
    "lemma11": "lemmas",
    "lemma12": "dynamics",
    "lemma13": "lemmas",
    "theorem1": "linearized",
    "theorem2": "directions",
    "appendixE": "linearized",
    "condition5": "condition5",
    "theorem4": "theorems4_6_7",
    "theorem6": "theorems4_6_7",
    "theorem7": "theorems4_6_7",
    "depth": "directions",
}
