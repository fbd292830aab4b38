"""PyTensor's own tests under the mode AOTENSOR, from a checkout of pymc-devs/pytensor; see __main__.py."""
