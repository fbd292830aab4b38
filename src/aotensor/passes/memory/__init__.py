"""Passes that decide where buffers are, and what stays in them between calls of a library."""
