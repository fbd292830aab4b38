"""Direct solution of sparse equations: orderings, factors, triangles, as kernels in Python that is also compiled."""
