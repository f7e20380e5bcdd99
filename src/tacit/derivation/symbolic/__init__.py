"""Potentials as formulas in SymPy, for separable, radial and affine parametrizations."""
