"""Passes of the nest level: each takes nests and gives nests that compute the same."""
