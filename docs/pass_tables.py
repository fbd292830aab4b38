"""The table of passes in the sources, and the tables of docs/ir.md, made from the declarations of passes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from textwrap import fill
from typing import Any, Final

from aotensor.driver.prepare import GRAPH
from aotensor.graph.passes.run import declared
from aotensor.graph.passes.steps import Step
from aotensor.passes.gemm.dispatch import add_gemm_kernels
from aotensor.passes.pipeline import LOOPS, MATH, NEST, TENSOR
from aotensor.passes.registry import declaration

PAGE: Final = Path(__file__).parent / "ir.md"
TABLE: Final = Path(__file__).parents[1] / "src/aotensor/graph/passes/table.py"
_INDENTED: Final[dict[str, Any]] = {
    "initial_indent": "    ", "subsequent_indent": "     ", "break_long_words": False, "break_on_hyphens": False,
}  # fmt: skip
_HEAD: Final = '''"""The table of passes, written by `python docs/build.py` from their declarations.

Imports the standard library only: the command line imports this module alone (`aotensor_cli/commands/names.py`).
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

Level: TypeAlias = Literal["graph", "tensor", "nest", "loops"]
Row: TypeAlias = tuple[str, Level, str, str, str, bool, dict[str, tuple[int, int, bool]]]
"""Name, level, topic of remarks, why it is required, former name, is it free, option → least, most, is it a power."""

# fmt: off
'''


def steps() -> list[Step]:
    """Every pass once for each time that it runs, in order."""
    return [*(declared(f)[0] for f in GRAPH), *(declaration(f).step for f in (*TENSOR, *NEST, *LOOPS, *MATH))]


def table() -> str:
    """The text of the table of passes in the sources."""
    rows = "".join(fill(_text(step.row()), 119, **_INDENTED) + ",\n" for step in _once(steps()))
    levels = dict.fromkeys(step.level for step in steps())
    names = (" ".join(f"{_text(x.name)}," for x in steps() if x.level == level) for level in levels)
    order = "\n".join(fill(text, 120, **_INDENTED) for text in names)
    return f"{_HEAD}ROWS: Final[tuple[Row, ...]] = (\n{rows})\nORDER: Final = (\n{order}\n)\n"


def page() -> str:
    """The text of docs/ir.md with current tables."""
    text = PAGE.read_text(encoding="utf-8")
    loops = (*LOOPS, add_gemm_kernels, *MATH)
    found = {"graph": [declared(f)[0] for f in GRAPH]}
    found |= {level: [declaration(f).step for f in known] for level, known in (("tensor", TENSOR), ("nest", NEST))}
    found["loops"] = [declaration(f).step for f in loops]
    for level, known in found.items():
        rows = "".join(f"| `{x.name}` | {x.description}{_reference(x)} |\n" for x in _once(known))
        text = _put(text, f"{level} passes", f"| pass | what it does |\n|---|---|\n{rows}")
    options = "".join(
        f"| `{x.name}{{{name}=N}}` | {option.meaning} |\n" for x in _once(steps()) for name, option in x.options.items()
    )
    return _put(text, "options of passes", f"| option | meaning |\n|---|---|\n{options}")


def write() -> None:
    """Write the table and the page."""
    TABLE.write_text(table(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


def _once(found: Iterable[Step]) -> list[Step]:
    return list({step.name: step for step in found}.values())


def _text(value: object) -> str:
    """A literal as ruff formats it."""
    match value:
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case tuple():
            return f"({', '.join(map(_text, value))})"
        case dict():
            return "{" + ", ".join(f"{_text(key)}: {_text(x)}" for key, x in value.items()) + "}"
        case _:
            return repr(value)


def _reference(step: Step) -> str:
    number = re.match(r"decisions/(\d+)", step.reference)
    name = f"decision {number[1]}" if number else "how-to"
    return f" ([{name}]({step.reference}))" if step.reference else ""


def _put(text: str, name: str, made: str) -> str:
    begin, end = f"<!-- {name}, made by docs/build.py -->\n", "\n<!-- end -->"
    found = re.sub(f"{re.escape(begin)}.*?{end}", lambda _: f"{begin}\n{made}{end}", text, count=1, flags=re.DOTALL)
    assert begin in found, name
    return found
