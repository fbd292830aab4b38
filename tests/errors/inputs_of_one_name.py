"""Two inputs of one name."""

import aotensor as aot
import aotensor.tensor as at

x = at.vector("x")
y = at.matrix("x")
aot.function([x, y], y @ x, name="f")
