"""Results as text and pictures, and how files are written."""
