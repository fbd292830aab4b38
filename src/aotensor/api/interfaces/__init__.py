"""Derive the functions that interfaces of other projects call, and describe the layer that exports their symbols."""
