"""Checks of a function at every level, of its derivatives and of a library, and their report."""
