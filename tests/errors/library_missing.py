"""A library that is not there."""

import aotensor as aot

aot.load("libnone.so")
