"""Calls that are more than a call: of BLAS, of LAPACK, of what runs rarely."""
