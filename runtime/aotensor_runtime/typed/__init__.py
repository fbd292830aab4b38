"""The typed entry of a function, as C programs call it: its parameters, and its address."""
