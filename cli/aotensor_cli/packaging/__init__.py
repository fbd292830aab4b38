"""What `aotensor package` makes of compiled libraries: a wheel, and an SDK for C and C++."""
