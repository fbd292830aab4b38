"""Operations are verified after each pass: unchanged ones once, changed ones again."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.dialects.arith import AddfOp, FastMathFlagsAttr
from xdsl.dialects.builtin import StringAttr, f32, f64
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from aotensor.ir.context import parse_module
from aotensor.ir.forms import Verifier
from aotensor.ir.upstream import walk

TEXT = """
func.func @f(%x : f64, %y : f32) -> f64 {
  %a = arith.addf %x, %x : f64
  %b = arith.mulf %a, %x : f64
  func.return %b : f64
}
"""


def test_unchanged_operations_are_verified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    module, seen, verify = parse_module(TEXT), [], Operation.verify

    def counted(op: Operation, *given: Any, **named: Any) -> None:
        seen.append(op.name)
        verify(op, *given, **named)

    monkeypatch.setattr(Operation, "verify", counted)
    verifier = Verifier()
    verifier.verify(module)
    assert seen == ["builtin.module", "func.func", "arith.addf", "arith.mulf", "func.return"]
    seen.clear()
    verifier.verify(module)
    assert seen == ["builtin.module", "func.func", "func.return"]
    seen.clear()
    next(op for op in walk(module) if isinstance(op, AddfOp)).properties["fastmath"] = FastMathFlagsAttr("fast")
    verifier.verify(module)
    assert "arith.addf" in seen and "arith.mulf" not in seen


@pytest.mark.parametrize("change", ["property", "type", "operand", "unknown property"])
def test_changes_are_verified(change: str) -> None:
    module, verifier = parse_module(TEXT), Verifier()
    verifier.verify(module)
    add = next(op for op in walk(module) if isinstance(op, AddfOp))
    match change:
        case "property":
            add.properties["fastmath"] = StringAttr("fast")
        case "unknown property":
            add.properties["slow"] = StringAttr("fast")
        case "type":
            assert add.lhs.type == f64
            add.lhs._type = f32
        case "operand":
            function = next(op for op in walk(module) if op.name == "func.func")
            add.operands[0] = function.regions[0].block.args[1]
    with pytest.raises(VerifyException):
        verifier.verify(module)
