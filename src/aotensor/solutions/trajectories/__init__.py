"""Initial value problems: steps with control of their error, and derivatives by the same steps."""
