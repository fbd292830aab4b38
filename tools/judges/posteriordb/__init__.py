"""Models of posteriordb as log densities, beside the gradients that CmdStan computes of them."""
