"""What became of lines of a model, and why: `aotensor why`."""
