"""Functions with parameters (`gammainc`, `jv`, …), computed for many elements at a time."""
