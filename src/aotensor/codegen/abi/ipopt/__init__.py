"""Ipopt's C interface: the callbacks of nonlinear programs."""
