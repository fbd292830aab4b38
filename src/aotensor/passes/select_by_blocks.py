"""Mark selections of the first or last few elements of lines that may search by blocks.

    aot.select "last" %x : tensor<?x?xf64> -> tensor<?x5xi64>
    →  aot.select "last" %x {nest.by_blocks} : tensor<?x?xf64> -> tensor<?x5xi64>

The least key of each block says which blocks have these elements (`kernels.block_selection`): a line is read once, in
vectors, and as many blocks again as elements are wanted. Where the extent is not known, calls choose by it.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr

from aotensor.ir.context import functions_of
from aotensor.ir.dialect import SelectOp
from aotensor.ir.nest.ops import BY_BLOCKS
from aotensor.ir.upstream import walk
from aotensor.kernels.block_selection import SMALL, WORTH
from aotensor.kernels.selection import BLOCK
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied, missed


@ir_pass(
    "select-by-blocks", level="nest", topic="loops", reference="decisions/0099-few-elements-are-searched-by-blocks.md"
)
def select_by_blocks(module: ModuleOp) -> None:
    """Searches few elements of long lines only in the blocks whose least keys are smallest."""
    for function in functions_of(module):
        for op in [op for op in walk(function) if isinstance(op, SelectOp) and op.ranks is None]:
            source, positions = op.source.type, op.positions.type
            assert isinstance(source, TensorType) and isinstance(positions, TensorType)
            n, many = source.get_shape()[-1], positions.get_shape()[-1]
            least = many * WORTH * SMALL
            if 0 <= n < least:
                reason = "{} not searched by blocks: {} of {} elements are too many"
                missed(reason, op, many, n, hint=f"lines of at least {least} elements")
            else:
                op.attributes[BY_BLOCKS] = UnitAttr()
                applied("{} searched by blocks of {} or {}, in lines of at least {} elements", op, SMALL, BLOCK, least)
