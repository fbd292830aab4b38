"""The derivatives in the tests of JAX and PyTensor, beside ours of the imported programs; see __main__.py."""
