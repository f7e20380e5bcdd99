"""Numerical linear algebra and root finding, independent of the theory."""
