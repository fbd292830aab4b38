"""Differences between targets: names, linkers, archives, CPU levels."""
