"""The `nest` dialect object, which contexts register."""

from __future__ import annotations

from typing import Final

from xdsl.ir import Dialect

from aotensor.ir.nest.chunks import ChunkSizeOp, ChunksOp
from aotensor.ir.nest.loops import EntriesOp, ForOp
from aotensor.ir.nest.ops import BalanceOp, DoOp, OutputAttr, OverAttr, OwnAttr, PrefetchOp, ProductOp, ValueOp, YieldOp
from aotensor.ir.nest.schedule import ScheduleAttr

NEST: Final = Dialect(
    "nest",
    [YieldOp, ValueOp, DoOp, ForOp, EntriesOp, PrefetchOp, BalanceOp, ProductOp, ChunkSizeOp, ChunksOp],
    [OwnAttr, OutputAttr, OverAttr, ScheduleAttr],
)
