"""From tensors to loops: what fuses, where values live, and the loops themselves."""
