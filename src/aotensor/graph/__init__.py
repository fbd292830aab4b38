"""The symbolic graph: variables, ops, and how to walk over it."""
