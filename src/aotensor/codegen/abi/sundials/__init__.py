"""The interface of SUNDIALS: right-hand sides and their derivatives, for CVODES and IDAS."""
