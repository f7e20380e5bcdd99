"""Where the flow ends: convex programs instead of simulations."""

from tacit.limits.answer import Limit
from tacit.limits.interpolation import limit
from tacit.limits.margin_path import MarginPath, margin_path
from tacit.limits.max_margin import Margin, max_margin

__all__ = ["Limit", "Margin", "MarginPath", "limit", "margin_path", "max_margin"]
