"""A variable where Python wants a truth value."""

import aotensor.tensor as at

x = at.scalar("x")
at.switch(x == 1, x, 0)
