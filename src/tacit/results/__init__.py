"""Results of `tacit.verbs`: plain data with a summary, a table, a dictionary and a picture."""
