"""Compiler code has two notations (decision 0106): operators on values, and kernels in Python.

A third one would be verbs of a builder, `b.add(x, y)`, or arithmetic of the arith dialect that is constructed by hand.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

import pytest
from sources import Source, sources

VERBS: Final = frozenset((
    "add", "sub", "mul", "div", "floordiv", "rem", "neg", "and_", "or_", "xor", "not_", "shift_left", "shift_right",
    "iadd", "isub", "imul", "ifloordiv",
))  # fmt: skip
"""Methods of a builder that have an operator."""
BUILDERS: Final = frozenset(("b", "s", "v", "w", "scalars", "builder", "inside"))
"""The names of builders. At other names, such as `operator.add` and `found.add`, a verb is something else."""
ORDERS: Final = frozenset(("lt", "le", "gt", "ge"))

ELSEWHERE: Final = {
    "aotensor.ir": "the builders, of which operators are made",
    "aotensor.codegen": "LLVM's builder, whose values have no operators",
}
"""The modules and packages with verbs or raw arithmetic → why."""


def _third(source: Source) -> Iterator[str]:
    """The calls of a module that are in a third notation."""
    for call in (
        ast.walk(source.tree) if re.search(r"\.(\w+Op|compare|" + "|".join(VERBS) + r")\(", source.text) else ()
    ):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            value, name = call.func.value, call.func.attr
            receiver = (
                value.attr if isinstance(value, ast.Attribute) else value.id if isinstance(value, ast.Name) else ""
            )
            first = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
            is_verb = name in VERBS or (name == "compare" and first in ORDERS)
            is_raw = receiver == "arith" and name.endswith("Op") and name != "ConstantOp"
            if (is_verb and receiver in BUILDERS) or is_raw:
                yield f"{source.where}:{call.lineno}: {ast.unparse(call)}"


@pytest.mark.unlimited("notations are kept by it alone", "ci")
def test_compiler_code_has_two_notations() -> None:
    """Write `x + y`; add no module to ELSEWHERE, and remove those that need not be there."""
    third, used = list[str](), set[str]()
    for source in sources().values():
        place = next((x for x in ELSEWHERE if f"{source.module}.".startswith(f"{x}.")), None)
        found = list(_third(source))
        if place is None:
            third += found
        elif found:
            used.add(place)
    assert third == []
    assert used == set(ELSEWHERE)
