"""The papers: their figures, made anew with a verdict on every claim, and their theorems, asked about data.

A folder for each paper, with a module for each theorem and figure, or group of them. Another package may
bring a paper, too, by an entry point of the group `tacit.papers`.
"""

from tacit.papers.reproduction import Entry, Reproduction, figure, figures, reproduce
from tacit.papers.reproduction import Progress as Progress
from tacit.papers.statements import Parts as Parts
from tacit.papers.statements import theorem
from tacit.results.claims import Bound, Claim, Threshold, at_least, at_most, within
from tacit.results.verdicts import Assumption, Premise, Setting

__all__ = [
    "Assumption",
    "Bound",
    "Claim",
    "Entry",
    "Premise",
    "Reproduction",
    "Setting",
    "Threshold",
    "at_least",
    "at_most",
    "figure",
    "figures",
    "reproduce",
    "theorem",
    "within",
]
