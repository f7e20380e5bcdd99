"""Potentials as formulas: what SymPy can say of separable, radial and affine parametrizations."""
