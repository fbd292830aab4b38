"""Collections of programs that other projects publish with their results; see __main__.py."""
