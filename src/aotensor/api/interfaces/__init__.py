"""Build the functions that interfaces of other projects require, and the layer that exports their symbols."""
