"""Reproducers: one file that repeats a compilation, its writer and the program inside it."""
