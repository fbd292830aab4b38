"""Passes of the nest level: each rewrites loop nests into nests that compute the same values."""
