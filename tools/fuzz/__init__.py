"""Random programs, files and matrices against the compiler and its runtime: `python -m tools.fuzz --help`."""
