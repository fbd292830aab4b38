"""More steps than a sequence has rows, found at the call: by a loop, and by what is no loop any more."""

import numpy as np

import aotensor as aot
import aotensor.tensor as at

x, n = at.vector("x"), at.lscalar("n")
doubled, _ = aot.scan(lambda row: 2 * row, x, n_steps=n)
aot.function([x, n], doubled, name="doubled")(np.ones(3), 5)
