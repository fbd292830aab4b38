"""Loops over steps as a whole: analysis of independent rows of their states."""
