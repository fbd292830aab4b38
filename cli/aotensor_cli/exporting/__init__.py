"""Graphs of a model in the formats of other viewers: Model Explorer and Netron."""
