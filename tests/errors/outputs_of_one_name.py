"""Two outputs whose names are one in C."""

import aotensor as aot
import aotensor.tensor as at

x = at.vector("x")
aot.function([x], {"grad w": x, "grad-w": x + 1}, name="f")
