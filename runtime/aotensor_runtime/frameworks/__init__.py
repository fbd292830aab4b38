"""Functions of a library as operators of other frameworks: a module each, which loads its framework.

Derivatives come from the library: its output `grad_x` is the gradient of the value with respect to `x`.
"""
