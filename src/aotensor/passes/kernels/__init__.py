"""Translation of kernels (`aotensor.kernels`) to loops, in place or as functions with an object file of their own."""
