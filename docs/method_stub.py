"""The stub of methods that public functions register: what type checkers know of `x.cumsum(axis=0)` and `x + y`."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Final

import aotensor.tensor  # noqa: F401  (every public function registers its methods)
from aotensor.graph.methods import registered
from aotensor.graph.public import METHODS, Method
from aotensor.ops.elementwise.base import Elementwise

STUB: Final = Path(registered.__file__).with_suffix(".pyi")
_HEAD: Final = '''"""Made by docs/build.py from the functions that are declared with `graph.public`."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import DTypeLike

from aotensor.graph.variable import Variable

class RegisteredMethods:
    __slots__ = ()
'''


def text() -> str:
    """The text of the stub."""
    return _HEAD + "".join(f"    def {name}{_signature(name, METHODS[name])}: ...\n" for name in sorted(METHODS))


def write() -> None:
    """Write the stub."""
    STUB.write_text(text(), encoding="utf-8")


def _signature(name: str, method: Method) -> str:
    if name.startswith("__"):
        is_unary = isinstance(method.function, Elementwise) and method.function.row.arity == 1
        rest = {"__round__": ", ndigits: int = 0"}.get(name, "" if is_unary else ", other: Any, /")
        return f"(self{rest}) -> Variable"
    if isinstance(method.function, Elementwise):
        return "(self) -> Variable"
    signature = inspect.signature(method.function)
    rest = list(signature.parameters.values())[1:]
    return f"(self{''.join(f', {_parameter(one)}' for one in rest)}) -> {signature.return_annotation}"


def _parameter(one: inspect.Parameter) -> str:
    annotation = "int | Sequence[int] | None" if one.annotation == "Axes" else one.annotation
    if one.default is one.empty:
        return f"{one.name}: {annotation}"
    default = json.dumps(one.default) if isinstance(one.default, str) else repr(one.default)
    return f"{one.name}: {annotation} = {default}"
