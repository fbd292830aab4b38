"""The forms of the IR: the dialects that each stage may contain, checkable after every pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.dialects.builtin import ModuleOp, TensorType

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
