"""Freestanding libraries: bounds of their stack, and the C library functions that they contain."""
