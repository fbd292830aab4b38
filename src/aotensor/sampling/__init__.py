"""Random arguments of a function, what the reference makes of them, and how far rounding may move that."""
