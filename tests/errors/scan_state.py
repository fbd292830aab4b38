"""A state that changes its dtype from step to step."""

import aotensor as aot
import aotensor.tensor as at

x, h = at.vector("x"), at.iscalar("h")
aot.scan(lambda row, old: row + old, x, h)
