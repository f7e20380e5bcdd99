"""The papers' figures, reproduced: data, picture, and a verdict on every claim.

A folder for each paper, and in it a module for each figure or group of figures: its table FIGURES says which.
"""

from tacit.papers.registry import Claim, Entry, Reproduction, figure, figures, reproduce

__all__ = ["Claim", "Entry", "Reproduction", "figure", "figures", "reproduce"]
