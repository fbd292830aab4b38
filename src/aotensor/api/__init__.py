"""The user's objects: Function, and the calls that define, compile and load one."""
