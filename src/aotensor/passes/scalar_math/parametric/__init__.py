"""Functions with parameters that are computed by loops, with their derivatives in the parameters."""
