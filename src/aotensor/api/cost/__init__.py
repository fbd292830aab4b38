"""What a call costs: its work as formulas of the dims, the limits of the machine, and the time that follows."""
