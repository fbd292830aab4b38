"""What is checked of a function at every level, of its derivatives and of a library, and the report of it."""
