"""Measure the time of a function by line of the model: `aotensor profile` and `f.time_by_line()`."""
