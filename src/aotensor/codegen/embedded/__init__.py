"""Freestanding libraries: their stack bounds, and the C library functions that they contain."""
