"""Interfaces of other projects as a layer of a library: one module each, over kernels that `translate` compiles."""
