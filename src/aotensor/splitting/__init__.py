"""Split functions over more rows than fit one machine: per-row computations, merges, and rounds of both."""
