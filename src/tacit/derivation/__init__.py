"""From a parametrization to its potential: `derive` decides whether there is one, and finds it."""

from tacit.derivation.candidates import Candidate
from tacit.derivation.closed_form import closed_form
from tacit.derivation.cost import Cost, cost
from tacit.derivation.derive import derive
from tacit.derivation.result import Derivation

__all__ = ["Candidate", "Cost", "Derivation", "closed_form", "cost", "derive"]
