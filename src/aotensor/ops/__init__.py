"""The dense operations: each op is one class or one row that holds all that is known about it."""
