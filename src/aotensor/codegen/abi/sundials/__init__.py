"""SUNDIALS: right-hand sides and their derivatives as CVODES and IDAS call them."""
