"""Functions of a library as operators of other frameworks: a module each, which loads its framework.

The derivative is the one that the library holds: `grad_x` beside the value says how the value changes with `x`.
"""
