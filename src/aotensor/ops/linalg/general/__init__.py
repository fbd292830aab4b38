"""Linear algebra of general matrices, real or complex: Schur forms, eigenvalues, equations, functions, factors."""
