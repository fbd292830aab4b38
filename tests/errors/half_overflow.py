"""A literal beyond float16, whose largest number is 65504."""

import aotensor.tensor as at

x = at.vector("x", dtype="float16")
x + 70000
