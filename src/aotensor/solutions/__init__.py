"""Solutions of equations as ops: found inside of the library by an iteration, differentiated as what they solve."""
