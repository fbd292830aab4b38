"""Formulas that overflow, underflow or cancel, and the stable functions that they are."""
