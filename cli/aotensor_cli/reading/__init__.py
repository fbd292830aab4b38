"""Read the files that a user names, and record the files that models open."""
