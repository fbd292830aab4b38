"""Operators, methods and NumPy functions of variables."""
