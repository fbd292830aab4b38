"""Differences between targets: file names, linkers, archives, CPU levels."""
