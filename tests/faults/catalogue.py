"""All planted faults, by name: thirty and more, of theories and of pieces."""

from pieces import PIECES
from theories import THEORIES

FAULTS = {fault.name: fault for fault in (*THEORIES, *PIECES)}
