"""Numerical checks of the derivatives of a function, and the search for the op with a wrong one."""
