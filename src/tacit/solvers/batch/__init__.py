"""Many limits of diagonal networks at once, by one program for NumPy and JAX."""
