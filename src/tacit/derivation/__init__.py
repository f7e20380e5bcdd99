"""From a parametrization to its potential: `derive` decides whether there is one, and finds it."""

from tacit.derivation.derive import Derivation, derive

__all__ = ["Derivation", "derive"]
