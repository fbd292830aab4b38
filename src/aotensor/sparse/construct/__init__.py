"""Construct sparse matrices: stacks, diagonals, rows at given indices, fewer entries; and read their vectors."""
