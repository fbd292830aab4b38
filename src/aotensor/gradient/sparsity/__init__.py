"""Sparse Jacobians: dependence of elements, column groups (colouring), and the compressed sweeps."""
