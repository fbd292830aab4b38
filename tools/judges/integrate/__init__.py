"""Compare solve_ivp, called from C, with CVODES, SciPy and diffrax: errors, times, gradients."""
