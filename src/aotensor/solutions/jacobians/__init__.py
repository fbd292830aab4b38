"""How solvers store the Jacobian of a system, and solve with it."""
