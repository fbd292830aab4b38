"""Loops and branches: ops that run subgraphs."""
