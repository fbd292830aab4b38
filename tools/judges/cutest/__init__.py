"""Problems of CUTEst, written in JAX by sif2jax: imported, and beside JAX's own derivatives."""
