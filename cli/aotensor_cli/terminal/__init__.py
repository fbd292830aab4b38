"""Format results and errors for terminals and pipes."""
