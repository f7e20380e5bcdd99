"""The numbered items of the papers."""

from tacit.papers.catalogue import Item
from tacit.papers.pages import items, place

__all__ = ["Item", "items", "place"]
