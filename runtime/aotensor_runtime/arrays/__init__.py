"""NumPy arrays at a library's boundary: memory layout, and lossless conversion."""
