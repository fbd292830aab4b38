"""The checking build: outputs and buffers are filled, and accesses are compared with extents."""
