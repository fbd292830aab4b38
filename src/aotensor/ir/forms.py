"""Checks of the IR after every pass: its operations, and the dialects that its stage may contain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, TensorType, VectorType
from xdsl.ir import Operation
from xdsl.traits import HasAncestor, HasParent, IsTerminator, OpTrait, SymbolUserOpInterface

from aotensor.errors import InternalError
from aotensor.ir.upstream import walk


@dataclass(frozen=True)
class Form:
    """A named set of dialects, and whether values may be tensors."""

    name: str
    dialects: frozenset[str]
    has_tensors: bool

    def check(self, module: ModuleOp, made_by: str) -> None:
        """Check that a module has this form.

        Raises: InternalError that names the pass and the first operation that violates the form.
        """
        for op in walk(module):
            if op.name.split(".")[0] not in self.dialects:
                raise InternalError(f"pass {made_by} broke form {self.name}: it has {op.name}")
            if not self.has_tensors and any(isinstance(r.type, TensorType) for r in op.results):
                raise InternalError(f"pass {made_by} broke form {self.name}: {op.name} gives a tensor")


_COMMON: Final = frozenset({"builtin", "func", "scf", "arith", "math"})
TENSOR_FORM: Final = Form("tensor", _COMMON | {"linalg", "tensor", "aot"}, has_tensors=True)
NEST_FORM: Final = Form("nest", _COMMON | {"tensor", "aot", "nest"}, has_tensors=True)
LOOP_FORM: Final = Form("loops", _COMMON | {"memref", "vector"}, has_tensors=False)
"""Upstream dialects only: `mlir-opt` parses and verifies every module of this form."""


_FAR: Final[tuple[type[OpTrait], ...]] = (IsTerminator, SymbolUserOpInterface, HasParent, HasAncestor)
"""Traits whose checks read other operations."""

_SCALAR_IN_XDSL: Final = frozenset((
    arith.CmpfOp, arith.CmpiOp, arith.SelectOp, arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.IndexCastOp,
    arith.FPToSIOp, arith.FPToUIOp, arith.SIToFPOp, arith.UIToFPOp,
))  # fmt: skip
"""Operations that MLIR has for vectors, too."""


class Verifier:
    """Verifies the operations of one module after each pass, those that did not change since then only once.

    An operation without regions is verified again if its operands, its attributes, a type or the enclosing operation
    is another object: all of them are immutable, and no check of such an operation reads more. Terminators, users of
    symbols and operations with regions are verified each time.
    """

    def __init__(self) -> None:
        self._verified: dict[Operation, list[Any]] = {}

    def verify(self, module: ModuleOp) -> None:
        """Verify all operations but those of vectors that xDSL mistakes for scalar ones.   Raises: VerifyException"""
        known, self._verified = self._verified, {}
        for op in walk(module):
            if type(op) in _SCALAR_IN_XDSL and isinstance(op.results[0].type, VectorType):
                continue
            if op.regions or op._next_op is None or not _is_local(type(op)):
                op.verify(verify_nested_ops=False)
                continue
            now, before = _read_by_checks(op), known.get(op)
            if before is None or len(now) != len(before) or any(x is not y for x, y in zip(now, before, strict=True)):
                op.verify(verify_nested_ops=False)
            self._verified[op] = now


@cache
def _is_local(kind: type[Operation]) -> bool:
    """Do the checks of an operation without regions read nothing but itself, its operands and its parent?"""
    return not any(kind.has_trait(trait, value_if_unregistered=True) for trait in _FAR)


def _read_by_checks(op: Operation) -> list[Any]:
    """The objects on which the verification of an operation without regions depends."""
    read: list[Any] = [op.parent_op()]
    for x in op._operands:
        read += (x, x._type)
    read += [x._type for x in op.results]
    for table in (op.attributes, op.properties):
        for name, value in table.items():
            read += (name, value)
    read += op.successors
    return read
