"""Statements of Min et al. 2021 and about it, and the modules that define them."""

THEOREMS = {
    "theorem1": "theorem1",
    "proposition1": "proposition1",
    "distance": "proposition1",
    "lemma1": "theorem2",
    "theorem2": "theorem2",
    "imbalance": "weights",
    "weights": "weights",
    "rate": "rate",
    "appendixD": "weights",
    "lemmaB.1": "lemmas",
    "lemmaB.2": "lemmas",
    "lemmaB.3": "lemmas",
    "lemmaB.4": "lemmas",
}
