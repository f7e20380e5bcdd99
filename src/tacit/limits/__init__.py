"""Where the flow ends: convex programs instead of simulations."""

from tacit.limits.interpolation import Limit, limit
from tacit.limits.margin_path import MarginPath, margin_path

__all__ = ["Limit", "MarginPath", "limit", "margin_path"]
