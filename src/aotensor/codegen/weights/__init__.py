"""Large constants in a file of their own, next to the library: its layout, and the code that maps and checks it."""
