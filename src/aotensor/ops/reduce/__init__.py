"""Ops that run along axes: sums, extrema, moments, softmax and its kin, running sums, sorting."""
