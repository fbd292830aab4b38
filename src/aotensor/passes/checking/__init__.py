"""The checking build: outputs and buffers are filled with a pattern, and accesses are checked against extents."""
