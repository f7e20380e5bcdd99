"""What comes in: arrays, tables, units."""
