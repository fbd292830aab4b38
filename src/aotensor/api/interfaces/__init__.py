"""Functions as the interfaces of other projects ask for them: what is compiled, and the layer over it."""
