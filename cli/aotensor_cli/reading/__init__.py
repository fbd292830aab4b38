"""What is in the files that a user names, and what models read while they are loaded."""
