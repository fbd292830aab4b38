"""Limits of checks: read by the command line without importing the compiler."""

from typing import Final

MOST_SAMPLES: Final = 1_000_000
"""Largest number of random arguments per comparison: small functions need about a millisecond for each."""
