"""What users hold in their hands: Function, and the calls that make, compile and load one."""
