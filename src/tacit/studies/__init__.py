"""Studies: a function evaluated at many points, kept in a store, and described by a file."""
