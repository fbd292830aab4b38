"""Factorizations and solves of small matrices, as generated loops instead of LAPACK calls."""
