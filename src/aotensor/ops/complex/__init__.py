"""Complex values as pairs of real ones, and functions of complex numbers."""
