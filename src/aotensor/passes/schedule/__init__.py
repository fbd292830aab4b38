"""User-written schedules: the meaning of a nest, equivalence of two nests, and edits that preserve it."""
