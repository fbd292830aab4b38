"""Linear equations with a sparse matrix: iterations, and solutions with implicit derivatives."""
