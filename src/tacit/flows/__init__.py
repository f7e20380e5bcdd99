"""Gradient flow itself, integrated to any accuracy."""
