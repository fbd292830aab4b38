"""Sparse Jacobians: which elements depend on which, groups of columns that share none, and the sweeps for these."""
