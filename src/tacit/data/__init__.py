"""Input data: arrays, tables, units, prepared problems."""
