"""Reports about a compiled function as plain data: loops with estimated times, memory over time."""
