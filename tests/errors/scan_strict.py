"""A strict step that reads what it is not given."""

import aotensor as aot
import aotensor.tensor as at

x, w = at.vector("x"), at.scalar("w")
aot.scan(lambda row: w * row, x, strict=True)
