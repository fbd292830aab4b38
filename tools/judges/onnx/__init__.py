"""Compare models shipped in PyPI packages with onnxruntime."""
