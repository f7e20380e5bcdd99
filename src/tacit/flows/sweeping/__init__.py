"""The rich limit of a separating flow as a sweeping process."""
