"""Loops over steps as a whole: which rows of their states need nothing of each other."""
