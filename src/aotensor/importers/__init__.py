"""Import graphs of other frameworks as Functions: one module per framework, which imports it.

Lower layers do not import these modules, which use the public API only: symbols, ops, `scan`, `ifelse`, `function`.
"""
