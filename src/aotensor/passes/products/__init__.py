"""Rewrites of sums of products of tensors: the order of sums and products, and the layout of factors."""
