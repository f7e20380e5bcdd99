"""Unknowns in which a flow is followed: multipliers, weights, a smaller network, the tangent."""
