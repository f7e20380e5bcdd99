"""Commands of the command line, a file each: how its options read, and what it prints."""
