"""Compare two libraries: `aotensor diff` and `aotensor bench --against`."""
