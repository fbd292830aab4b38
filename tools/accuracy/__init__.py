"""Errors of special functions and their derivatives against mpmath, over all magnitudes of their operands."""
