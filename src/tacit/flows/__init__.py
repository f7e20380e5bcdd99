"""Numerical integration of gradient flow."""
