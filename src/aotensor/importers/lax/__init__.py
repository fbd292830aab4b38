"""The primitives of XLA by the names of `jax.lax`, one rule each, for every framework that speaks of them."""
