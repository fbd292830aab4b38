"""Windows and elements of sparse matrices: x[index]."""
