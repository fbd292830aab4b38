"""Translation of loop-level IR to C99."""
