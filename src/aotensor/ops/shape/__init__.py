"""Ops that move elements without computing: extents, axes, broadcasting, joining, rearranging."""
