"""Parts of the header beside the prototypes: constant patterns, and what interfaces of other projects need in C."""
