"""The papers: reproduced figures with a verdict on every claim, and theorems that can be evaluated on data.

Every paper has a folder with one module per theorem or figure, or group of them. Another package can bring a
paper through an entry point of the group `tacit.papers`.
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
