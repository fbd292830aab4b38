"""Numerical stabilisation: formulas that overflow, underflow or cancel, and stable replacements."""
