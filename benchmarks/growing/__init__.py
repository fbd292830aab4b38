"""Programs of increasing size, whose compile times are measured by growth.py."""
