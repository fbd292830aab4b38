"""Classify a test's result, with documented reasons of failures."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

VERDICTS: Final = ("passed", "skipped", "refused", "internals", "others", "late", "wrong")
"""refused: by us, by name. internals: looks at PyTensor's graph, at work in place, at what its linkers do. others: for
a reason that REASONS gives. late: longer than a test may take."""

_INTERNALS: Final = re.compile(
    r"destroy_map|inplace|Inplace|toposort|\.owner\b|isinstance\(|fgraph|check_stack_trace|\.linker|view_map"
    r"|assert_equal_computations|equal_computations|len\(matches\)|\.nodes|\bvm\b|storage_map|\.profile|dprint|\bx_f\b|apply_nodes|in_graph|cthunk"
)
_VALUES: Final = re.compile(r"Not equal to tolerance|Arrays are not (almost )?equal|Mismatched elements")
"""NumPy's words for values that differ, whatever the statement also looks at."""
_IN_AN_INPUT: Final = re.compile(r"test_schur\.py:\d+ np\.testing\.assert_allclose\([xAB]_f, scipy_")
"""Statements that want a result in an input, by values: the results themselves have been compared before."""
_NUMBERS: Final = "draws other numbers than NumPy: the distribution is the same"
_MESSAGE: Final = "raises the error with another message"
_STATIC: Final = "broadcasts along extents that are 1 at run time only (decision 0003), or wants another error"
_BROADCAST: Final = re.compile(r"extent \d+ (along|for) axis \d+ (instead|of a window)|extents along axis \d+ .*differ")
REASONS: Final[Mapping[str, tuple[str, str]]] = {
    "scan/test_basic.py::TestScan::test_simple_shared_random": ("others", _NUMBERS),
    "scan/test_basic.py::TestExamples::test_gibbs_chain": ("others", _NUMBERS),
    "scan/test_basic.py::test_rng_outputs_info": ("others", _NUMBERS),
    "tensor/random/test_op.py::test_constant_rng_op": ("others", _NUMBERS),
    "tensor/test_shape.py::TestReshape::test_bad_shape": ("others", _MESSAGE),
    "tensor/test_shape.py::TestSpecifyShape::test_bad_shape": ("others", _MESSAGE),
    "tensor/test_basic.py::TestJoinAndSplit::test_split_neg": (
        "others",
        "raises the error of a size that is negative when the function is made",
    ),
    "tensor/test_extra_ops.py::TestSearchsortedOp": (
        "others",
        "`searchsorted` in a vector that is not sorted, where any position is right",
    ),
    "tensor/test_math.py::TestNegBroadcast::test_bad_compile": (
        "others",
        "wants an error: unsigned numbers are negated here, as NumPy does it",
    ),
    "scan/test_basic.py::test_output_storage_reuse": ("internals", "PyTensor's own loop in C, which has to be built"),
    "tensor/test_elemwise.py::test_XOR_inplace": ("internals", "wants the result in an input"),
}
"""Part of a test's name → verdict and reason, for those that no rule here tells."""


def verdict(line: Mapping[str, Any]) -> tuple[str, str]:
    """The verdict and reason for a line of plugin.py."""
    if line["outcome"] in ("passed", "xpassed"):
        return "passed", ""
    if line["outcome"] in ("skipped", "xfailed"):
        return "skipped", ""
    for name, found in REASONS.items():
        if name in line["test"]:
            return found
    if _BROADCAST.search(line["refused"]):
        return "others", _STATIC
    if line["refused"]:
        return "refused", _named(line["refused"])
    if line["kind"] == "Failed" and line["text"].startswith("longer than"):
        return "late", ""
    if line["lines"] and _IN_AN_INPUT.search(line["lines"][-1]):
        return "internals", ""
    if _VALUES.search(line["text"]):
        return "wrong", f"{line['kind']}: {line['text'][:200]}"
    statement = " ".join(line["lines"][-2:])
    if _INTERNALS.search(statement) or _INTERNALS.search(line["text"].partition("\n")[0]):
        return "internals", ""
    return "wrong", f"{line['kind']}: {line['text'][:200]}"


def _named(error: str) -> str:
    """The unsupported operations that an error lists.

    Where tests add a line of their own to an error, its text is that of a tuple.
    """
    if error.startswith("('"):
        with suppress(ValueError, SyntaxError):
            error = str(ast.literal_eval(error)[0])
    title = error.partition("\n")[0]
    listed = re.findall(r"^  (\S.*?)   ", error, re.MULTILINE) if "no counterpart" in title else []
    return "; ".join(dict.fromkeys(listed)) if listed else title
