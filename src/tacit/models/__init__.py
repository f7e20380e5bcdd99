"""Models: a parametrization together with its initialization, one file per family."""

from tacit.models.diagonal import Diagonal, UntiedDiagonal

__all__ = ["Diagonal", "UntiedDiagonal"]
