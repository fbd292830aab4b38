"""Graphs that people already have, as functions of ours: a module per framework, which loads it when it is imported.

Nothing below knows of these modules, and they use what every user can: symbols, ops, `scan`, `ifelse`, `function`.
"""
