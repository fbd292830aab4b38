"""How results and errors look, on a terminal and in a pipe."""
