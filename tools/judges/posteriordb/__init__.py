"""Models of posteriordb as log densities, compared with gradients that CmdStan computed."""
