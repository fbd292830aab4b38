"""The `nest` dialect: what runs inside what, and where each value lives."""
