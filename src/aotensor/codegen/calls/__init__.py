"""Calls that need more than a call instruction: BLAS, LAPACK, machine instructions, rarely executed functions."""
