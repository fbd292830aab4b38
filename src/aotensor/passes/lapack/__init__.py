"""Lowering of linear algebra to loops over a batch that call LAPACK."""
