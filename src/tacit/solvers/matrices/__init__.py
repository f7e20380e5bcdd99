"""Matrices under linear measurements: where factorizations end, and the ends of their scale."""
