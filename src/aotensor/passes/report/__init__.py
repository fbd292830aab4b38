"""What a compiled function does, as plain data for who shows it: loops with their estimated time, memory over time."""
