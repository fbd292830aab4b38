"""Windows of tensors as reads of single elements, and loops that need no conditions for them."""
