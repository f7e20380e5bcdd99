"""Solvers for the limit of gradient flow: convex programs solved to round-off."""
