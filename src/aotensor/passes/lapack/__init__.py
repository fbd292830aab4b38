"""Linear algebra at loop level: loops over a batch that call LAPACK."""
