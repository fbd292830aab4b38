"""Factorisations and solves of small matrices, as loops in place of calls."""
