"""Cost estimates of calls: work as formulas of the dims, the limits of the machine, and the time by both."""
