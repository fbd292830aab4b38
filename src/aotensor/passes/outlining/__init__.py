"""Functions made of loops: outlined, merged, and elementary functions that are called."""
