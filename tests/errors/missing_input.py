"""A variable that is needed but is not an input."""

import aotensor as aot
import aotensor.tensor as at

x, y = at.vector("x"), at.vector("y")
aot.function([x], x + y, name="f")
