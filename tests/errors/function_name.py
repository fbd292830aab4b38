"""A name that is not a C identifier."""

import aotensor as aot
import aotensor.tensor as at

x = at.vector("x")
aot.function([x], x, name="my function")
