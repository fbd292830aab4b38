"""Log densities with named parameters: constraints, transforms, and what interfaces of samplers ask of them."""
