"""One file that repeats a compilation: what writes it, and the program inside of it."""
