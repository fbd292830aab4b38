"""Functions over more rows than a machine holds: what belongs to a row, what is merged, and the rounds of both."""
