"""Interfaces of other projects as a layer of a library: one module for each, over kernels that `translate` compiles."""
