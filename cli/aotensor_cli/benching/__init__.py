"""Helpers of `aotensor bench`: sizes, comparison of outputs, plots."""
