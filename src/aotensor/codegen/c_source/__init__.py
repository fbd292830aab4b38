"""C99 from the loop level."""
