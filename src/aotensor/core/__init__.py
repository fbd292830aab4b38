"""Facts that need no graph: dtypes, tensor types, the verbs that ops lower with."""
