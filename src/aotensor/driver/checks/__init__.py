"""What a verification looks at beside derivatives, and the report of what it found."""
