"""Ops that move elements without arithmetic: extents, axes, broadcasting, joining, rearranging."""
