"""What a function takes and gives, and how its calls run."""
