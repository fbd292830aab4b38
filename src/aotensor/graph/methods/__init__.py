"""What can be written on a variable: operators, methods, and functions of NumPy."""
