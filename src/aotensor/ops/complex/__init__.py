"""Complex values: pairs of real ones, and the functions that know them as numbers."""
