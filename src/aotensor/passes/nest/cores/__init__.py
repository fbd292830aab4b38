"""Parallelization of loops over several cores."""
