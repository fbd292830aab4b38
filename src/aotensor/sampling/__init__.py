"""Random arguments of a function, reference results, and tolerances from rounding."""
