"""Compare the derivatives in the tests of JAX and PyTensor with those of the imported programs; see __main__.py."""
