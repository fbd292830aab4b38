"""Windows of tensors: inlining of slices and shifted producers, index set splitting, overlapped tiling."""
