"""Pieces of numerical linear algebra that know nothing of the theory."""
