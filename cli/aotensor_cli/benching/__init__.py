"""Inputs of given sizes, for `aotensor bench`."""
