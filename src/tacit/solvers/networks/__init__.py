"""Limits of linear networks and leaky neurons, and bounds on the distance to a known solution."""
