"""Sparse matrices at the boundary of a library: from SciPy's classes to four arrays and back. SciPy is loaded late."""
