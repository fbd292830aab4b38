"""Products with a sparse operand: dense, sparse, at stored entries only, and added to a tensor."""
