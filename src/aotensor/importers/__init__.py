"""Doors for programs that were written for other frameworks. Each module loads its framework when it is imported."""
