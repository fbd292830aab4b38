"""Elementwise ops: one row per function, in tables by section of the specification."""
