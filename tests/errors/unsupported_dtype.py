"""A dtype that cannot be compiled."""

import aotensor.tensor as at

at.vector("z", dtype="datetime64[s]")
