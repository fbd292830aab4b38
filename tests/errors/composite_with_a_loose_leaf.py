"""A composite that reads a variable which is none of its inputs."""

import aotensor as aot
import aotensor.tensor as at

x, rate = at.vector("x"), at.scalar("rate")
aot.OpFromGraph([x], [at.exp(-rate * x)])
