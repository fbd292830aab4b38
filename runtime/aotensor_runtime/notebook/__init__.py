"""How libraries and reports look in a notebook."""
