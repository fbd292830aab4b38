"""Tables of values that SciPy tests its special functions with, beside our functions."""
