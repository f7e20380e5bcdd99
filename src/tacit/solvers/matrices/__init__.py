"""Matrices under linear measurements: limits of factorizations, also at infinite and zero scale."""
