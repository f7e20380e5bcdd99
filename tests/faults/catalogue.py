"""All planted faults by name: wrong theories and wrong components."""

from pieces import PIECES
from practice import PRACTICE
from theories import THEORIES

FAULTS = {fault.name: fault for fault in (*THEORIES, *PRACTICE, *PIECES)}
