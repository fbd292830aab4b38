"""Rewrites of sums of products of tensors among generics: their order, and the layout of their factors."""
