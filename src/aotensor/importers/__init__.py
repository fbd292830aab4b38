"""Import graphs of other frameworks as Functions: one module per framework, which imports it.

Nothing below knows of these modules, and they use what every user can: symbols, ops, `scan`, `ifelse`, `function`.
"""
