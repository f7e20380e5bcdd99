"""The papers' figures, reproduced: data, picture, and a verdict on every claim."""

from tacit.papers.registry import Claim, Entry, Reproduction, figure, figures, reproduce

__all__ = ["Claim", "Entry", "Reproduction", "figure", "figures", "reproduce"]
