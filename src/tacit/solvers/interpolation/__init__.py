"""Interpolation: minimize a potential subject to X w = y, and estimate the error of the solution."""
