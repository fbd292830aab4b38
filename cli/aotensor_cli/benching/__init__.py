"""What `aotensor bench` is made of: inputs of given sizes, turns of calls, and the limits of the machine."""
