"""The typed entry of a function for C programs: parameters and address."""
