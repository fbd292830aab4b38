"""Compare derivatives in the tests of JAX, PyTensor and autograd with those of the same programs; see __main__.py."""
