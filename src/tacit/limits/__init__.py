"""Where the flow ends: convex programs instead of simulations."""

from tacit.limits.interpolation import Limit, limit

__all__ = ["Limit", "limit"]
