"""An input that nothing needs."""

import aotensor as aot
import aotensor.tensor as at

x, y = at.vector("x"), at.vector("y")
aot.function([x, y], x, name="f")
