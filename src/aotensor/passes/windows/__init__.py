"""Windows of tensors: inlining of slices and of producers at shifted indices, index set splitting, overlapped tiling."""
