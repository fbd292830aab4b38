"""Sparse matrices at a library's boundary: from SciPy's classes to four arrays and back. SciPy is imported lazily."""
