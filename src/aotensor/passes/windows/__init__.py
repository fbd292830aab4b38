"""Windows of tensors: inline slices and producers at shifted indices, split loops by their conditions, tile sweeps."""
