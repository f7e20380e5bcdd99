"""What the verbs return: plain data with a summary, a table, a dictionary and a picture."""
