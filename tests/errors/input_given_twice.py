"""One input given twice."""

import aotensor as aot
import aotensor.tensor as at

x = at.vector("x")
aot.function([x, x], x, name="f")
