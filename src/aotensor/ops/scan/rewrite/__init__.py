"""Optimisations of loops on graphs, before lowering."""
