"""Statements of Azulay et al. 2021, and the modules that define them."""

THEOREMS = {
    "theorem1": "theorems1_to_4",
    "theorem2": "theorems1_to_4",
    "theorem4": "theorems1_to_4",
    "proposition1": "theorems1_to_4",
    "theorem3": "theorems1_to_4",
}
