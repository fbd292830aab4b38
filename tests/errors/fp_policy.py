"""An fp policy that there is not."""

import aotensor as aot
import aotensor.tensor as at

x = at.vector("x")
aot.compile(aot.function([x], x, name="f"), "build", fp="loose")
