"""Definitions below the graph: dtypes, tensor types, and the builders that ops lower with."""
