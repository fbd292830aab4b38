"""Import programs of JAX as Functions.

from aotensor.importers.jax import from_jax

f = from_jax(loss, params, jax.ShapeDtypeStruct((n, 3), "float32"))  # an aot.Function: call it, compile it, ship it
"""

from __future__ import annotations

from aotensor.importers.errors import NoCounterpart
from aotensor.importers.jax.function_import import from_jax
from aotensor.importers.jax.interpret import COUNTERPARTS

__all__ = ["COUNTERPARTS", "NoCounterpart", "from_jax"]
