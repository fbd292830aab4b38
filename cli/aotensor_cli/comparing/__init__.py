"""What differs between two libraries: `aotensor diff`, and `aotensor bench --against`."""
