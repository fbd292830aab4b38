"""Long programs: nothing on the road recurses along a chain."""

from __future__ import annotations

import aotensor as aot
import aotensor.tensor as at
from aotensor.driver.recipe import Options, lower


def test_a_chain_of_two_thousand_ops_is_lowered() -> None:
    y = x = at.vector("x")
    for _ in range(2000):
        y = at.sin(y)
    lower([aot.function([x], y, name="chain")], Options(), texts=())


def test_a_join_of_many_parts_is_lowered() -> None:
    parts = [at.vector(f"v{number}") for number in range(400)]
    joined = at.concatenate(parts)
    lower([aot.function(parts, [joined, joined[::-1].reshape((-1, 1))], name="join")], Options(), texts=())
