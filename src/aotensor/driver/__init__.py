"""Compile definitions of functions to the files of a library: the steps, and the cache."""
