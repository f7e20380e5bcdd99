"""Classification: minimize a norm or a potential subject to margins of at least 1."""
