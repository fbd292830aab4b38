"""Where the time of a function goes, by line of the model: `aotensor profile` and `f.time_by_line()`."""
