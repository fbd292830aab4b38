"""Rules for XLA's primitives by their names in `jax.lax`, shared by the importers of JAX and StableHLO."""
