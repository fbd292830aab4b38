"""Linear algebra: factorisations, solves, inverses, determinants; batched over leading dims."""
