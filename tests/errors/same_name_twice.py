"""Two functions of one name in a library."""

import aotensor as aot
import aotensor.tensor as at

x = at.vector("x")
f = aot.function([x], x, name="f")
g = aot.function([x], x + 1, name="f")
aot.compile([f, g], "build")
