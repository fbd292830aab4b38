"""Facts that need no graph: dtypes, tensor types, the builders that ops lower with."""
