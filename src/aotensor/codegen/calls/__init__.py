"""Calls that need more than a call instruction: of BLAS, LAPACK, machine instructions, and rare functions."""
