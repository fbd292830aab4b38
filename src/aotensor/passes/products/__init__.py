"""Sums of products of tensors, among generics: which of the two comes first, and in what order factors are read."""
