"""Forms of a compilation that are text to be read: assembly by line, C source."""
