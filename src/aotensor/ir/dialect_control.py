"""Operations of the `aot` dialect that call private functions of the module at tensor level: loops and branches.

    aot.scan @body steps %n (%rows, %initial, %constants) sizes [%sizes] {...}      a loop with carried states
    aot.branch %condition @then @otherwise (%captured) sizes [%sizes]               one of two functions

The functions are private, in the module of their caller. emit-loops inlines them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerType,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class ScanOp(IRDLOperation):
    """A loop of `steps` calls of a function, each with a row of every sequence and with the states of former calls.

    body(rows, states, constants) -> (new states, further rows, stop?). taps: for each state the lags of the values that
    the body uses, negative, ascending; `initial` has -taps[0] rows, the oldest first. Results: all values of a state
    along a new leading axis, or the last one if `stacked` is 0; then the further rows along a new leading axis; then,
    with `conditional`, the number of steps until the body's last result was true. Step t reads and writes row t, or row
    steps - 1 - t if `reversed`. Rows after the last executed step are undefined. sizes: the dynamic extents of all
    results in order. chunk: number of rows of the states for which all steps run before the next rows start; the body
    then has this number of rows. cut: for each sequence and each constant, does it have such rows? All states do.
    Without states, `chunk` is a number of steps.
    """

    name = "aot.scan"
    steps = operand_def(IndexType)
    sequences = var_operand_def()
    initial = var_operand_def()
    constants = var_operand_def()
    sizes = var_operand_def(IndexType)
    chunk = opt_operand_def(IndexType)
    outputs = var_result_def()
    body = prop_def(SymbolRefAttr)
    taps = prop_def(ArrayAttr[DenseArrayBase[IntegerType]])
    stacked = prop_def(DenseArrayBase)
    conditional = opt_prop_def(UnitAttr)
    reversed = opt_prop_def(UnitAttr)
    cut = opt_prop_def(DenseArrayBase)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(Pure())
    assembly_format = (
        "$body `steps` $steps `rows` `(` $sequences `)` `initial` `(` $initial `)` `constants` `(` $constants `)` "
        "`sizes` `[` $sizes `]` (`chunk` $chunk^)? attr-dict "
        "`:` `(` type($sequences) `)` `(` type($initial) `)` `(` type($constants) `)` "
        "`->` `(` type($outputs) `)`"
    )

    def __init__(
        self,
        body: str,
        steps: SSAValue,
        operands: tuple[Sequence[SSAValue], Sequence[SSAValue], Sequence[SSAValue]],
        sizes: Sequence[SSAValue],
        results: Sequence[Attribute],
        taps: Sequence[Sequence[int]],
        stacked: Sequence[bool],
        is_conditional: bool,
        is_reversed: bool,
        chunk: SSAValue | None = None,
    ) -> None:
        super().__init__(
            operands=[steps, *operands, sizes, chunk],
            result_types=[results],
            properties={
                "body": SymbolRefAttr(body),
                "taps": ArrayAttr(DenseArrayBase.from_list(i64, list(lags)) for lags in taps),
                "stacked": DenseArrayBase.from_list(i64, [int(x) for x in stacked]),
                **({"conditional": UnitAttr()} if is_conditional else {}),
                **({"reversed": UnitAttr()} if is_reversed else {}),
            },
        )

    @property
    def lags(self) -> list[tuple[int, ...]]:
        """The lags of each state, from the attribute `taps`, as a tuple."""
        return [lags.get_values() for lags in self.taps]

    def result_sizes(self) -> Iterator[tuple[SSAValue, list[SSAValue]]]:
        """The tensor results, each with its dynamic extents."""
        return _sized(self.outputs, self.sizes)

    def verify_(self) -> None:
        if len(self.taps) != len(self.initial) or len(self.stacked) != len(self.initial):
            raise VerifyException("taps and stacked must have one entry for each state")
        flags = None if self.cut is None else len(self.cut.get_values())
        if flags != (None if self.chunk is None else len(self.sequences) + len(self.constants)):
            raise VerifyException("a chunked loop must state for each sequence and constant whether it is split")


@irdl_op_definition
class BranchOp(IRDLOperation):
    """A branch: the results of `then` if the condition holds, else those of `otherwise`; only one is called."""

    name = "aot.branch"
    condition = operand_def(IntegerType(1))
    captured = var_operand_def()
    sizes = var_operand_def(IndexType)
    outputs = var_result_def()
    then = prop_def(SymbolRefAttr)
    otherwise = prop_def(SymbolRefAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(Pure())
    assembly_format = (
        "$condition $then $otherwise `(` $captured `)` `sizes` `[` $sizes `]` attr-dict `:` `(` type($captured) `)` "
        "`->` `(` type($outputs) `)`"
    )

    def __init__(
        self,
        condition: SSAValue,
        then: str,
        otherwise: str,
        captured: Sequence[SSAValue],
        sizes: Sequence[SSAValue],
        results: Sequence[Attribute],
    ) -> None:
        super().__init__(
            operands=[condition, captured, sizes],
            result_types=[results],
            properties={"then": SymbolRefAttr(then), "otherwise": SymbolRefAttr(otherwise)},
        )

    def result_sizes(self) -> Iterator[tuple[SSAValue, list[SSAValue]]]:
        """The tensor results, each with its dynamic extents."""
        return _sized(self.outputs, self.sizes)


def _sized(results: Sequence[SSAValue], sizes: Sequence[SSAValue]) -> Iterator[tuple[SSAValue, list[SSAValue]]]:
    rest = iter(sizes)
    for x in results:
        if isinstance(x.type, TensorType):
            yield x, [next(rest) for n in x.type.get_shape() if n == DYNAMIC_INDEX]
