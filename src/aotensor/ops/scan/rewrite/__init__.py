"""Loops made faster before they are compiled: graph to graph."""
