"""Libraries for machines without a system: how much stack they take, and what of a C library they bring themselves."""
