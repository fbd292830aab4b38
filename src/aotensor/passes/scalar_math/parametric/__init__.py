"""Functions with parameters, computed by loops, with their derivatives in the parameters."""
