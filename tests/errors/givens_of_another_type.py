"""A given of another dtype."""

import aotensor as aot
import aotensor.tensor as at

x, y = at.vector("x"), at.vector("y", dtype="float32")
aot.function([y], x * 2, givens={x: y}, name="f")
