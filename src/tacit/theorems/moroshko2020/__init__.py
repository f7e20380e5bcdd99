"""Statements of Moroshko et al. 2020, and the modules that define them."""

THEOREMS = {
    "lemma3": "lemmas",
    "lemma11": "lemmas",
    "lemma13": "lemmas",
    "condition5": "condition5",
    "theorem4": "theorems4_6_7",
    "theorem6": "theorems4_6_7",
    "theorem7": "theorems4_6_7",
}
