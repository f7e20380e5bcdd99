"""Statements of Azulay et al. 2021, and the modules that define them."""

THEOREMS = {
    "theorem1": "theorems1_to_4",
    "theorem2": "theorems1_to_4",
    "theorem4": "theorems1_to_4",
    "proposition1": "theorems1_to_4",
    "theorem3": "theorems1_to_4",
    "lemma3.1": "limits",
    "definition1": "limits",
    "section7.1": "limits",
    "lemma1": "neurons",
    "lemma2": "neurons",
    "lemma3": "neurons",
    "lemma4": "limits",
}
