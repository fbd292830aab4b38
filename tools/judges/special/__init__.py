"""Compare special functions with the tables in SciPy's tests."""
