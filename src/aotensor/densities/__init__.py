"""Log densities with named, constrained parameters, and the transforms that samplers need."""
