"""Models inside packages of PyPI, as they are shipped, beside onnxruntime."""
