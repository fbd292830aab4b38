"""The dense operations: each op is one class, or one row of a table, with its complete definition."""
