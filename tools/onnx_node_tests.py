"""The node tests of the package `onnx`, by the reference and compiled.

    python -m tools.onnx_node_tests                     all by the reference: counts, and what is wrong
    python -m tools.onnx_node_tests --compile           all compiled, too
    python -m tools.onnx_node_tests --write             docs/onnx_nodes.md

A test gives shapes, axes and sizes as inputs at run time, where models have constants: those that a rule must know
are made initializers.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

import aotensor as aot
from aotensor.errors import AotensorError, UnsupportedError
from aotensor.importers.onnx import NoCounterpart
from aotensor.importers.onnx.functions import function_of
from aotensor.importers.onnx.model import OLDEST

PAGE = Path(__file__).parents[1] / "docs" / "onnx_nodes.md"
_KNOWN = re.compile(r"must be known|nor made of extents|not known when")
_CHUNK = 40  # functions of a library


@dataclass(frozen=True)
class Prepared:
    """A test as a Function of ours, with what its inputs are and what it shall give."""

    case: Any
    function: aot.Function
    arguments: list[Any]
    expected: list[Any]


@dataclass(frozen=True)
class Outcome:
    """verdict: passes, refused, wrong, or old for opsets that are not read. operator: as the test's model has it."""

    name: str
    operator: str
    verdict: str
    reason: str = ""


def load_cases() -> list[Any]:
    """All node tests that the package generates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        return list(load_model_tests(kind="node"))


def operator_of(case: Any) -> str:
    """The operator that a test is about; those whose functions are written out stand together."""
    if "_expanded" in case.name:
        return "functions, written out"
    node = case.model.graph.node[-1]
    return f"{node.domain}.{node.op_type}" if node.domain else str(node.op_type)


def is_old(case: Any) -> bool:
    """Is it of an opset that is not read?"""
    versions = {item.domain: item.version for item in case.model.opset_import}
    return bool(versions.get("", OLDEST) < OLDEST)


def prepared(case: Any) -> Iterator[Prepared]:
    """A Function per data set.   Raises: AotensorError for a model that is refused"""
    for number, (inputs, outputs) in enumerate(case.data_sets):
        given, expected = _arrays(inputs), _arrays(outputs)
        name = f"{case.name}_{number}"
        model = case.model
        try:
            f = function_of(model, None, name)
        except NoCounterpart as error:
            embedded = _embedded(model, given)
            if not _KNOWN.search(str(error)) or embedded is None:
                raise
            model, f = embedded, function_of(embedded, None, name)
        constants = {item.name for item in model.graph.initializer}
        arguments = [x for item, x in zip(model.graph.input, given, strict=False) if item.name not in constants]
        yield Prepared(case, f, arguments, expected)


def _rounding(x: Any) -> float:
    """Four units in the last place of a half: every op here rounds its result to one."""
    return {"float16": 2.0**-8, "bfloat16": 2.0**-5}.get(str(x.dtype), 0.0)


def disagreement(test: Prepared, results: Sequence[Any]) -> str:
    """What is wrong with results, "" if nothing is."""
    for got, wanted in zip(results, map(np.asarray, test.expected), strict=True):
        got = np.asarray(got)
        if got.dtype != wanted.dtype or got.shape != wanted.shape:
            return f"{got.dtype}{list(got.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
        rtol, atol = (max(x, _rounding(wanted)) for x in (test.case.rtol, test.case.atol))
        if not np.allclose(got, wanted, rtol=rtol, atol=atol, equal_nan=True):
            return f"values differ: {got.ravel()[:4]} instead of {wanted.ravel()[:4]}"
    return ""


def by_reference(case: Any) -> tuple[Outcome, list[Prepared]]:
    """What the reference makes of a test, and its Functions if it passes."""
    operator = operator_of(case)
    if is_old(case):
        return Outcome(case.name, operator, "old"), []
    try:
        tests = list(prepared(case))
    except AotensorError as error:
        return Outcome(case.name, operator, "refused", _reason(error)), []
    for test in tests:
        with np.errstate(all="ignore"):
            wrong = disagreement(test, list(test.function.reference(*test.arguments).values()))
        if wrong:
            return Outcome(case.name, operator, "wrong", wrong), []
    return Outcome(case.name, operator, "passes"), tests


def compiled_wrong(tests: Sequence[Prepared]) -> list[str]:
    """Names of tests whose compiled Functions give something else, with what."""
    wrong = []
    for start in range(0, len(tests), _CHUNK):
        chunk = tests[start : start + _CHUNK]
        with tempfile.TemporaryDirectory() as folder:
            library = aot.compile([test.function for test in chunk], folder, name="nodes", opt_level=1).load()
        for test in chunk:
            found = library[test.function.name](*test.arguments)
            values = list(found.values()) if isinstance(found, dict) else [found]
            if text := disagreement(test, values):
                wrong.append(f"{test.function.name}: {text}")
    return wrong


def _reason(error: AotensorError) -> str:
    if isinstance(error, NoCounterpart):
        return "; ".join(
            sorted({f"{item.name}: {item.reason}" if item.reason else item.name for item in error.operations})
        )
    kind = "dtype or kind of value" if isinstance(error, UnsupportedError) else "types"
    return f"{kind}: {error.diagnostic.title.partition('   (')[0]}"


def _arrays(values: Sequence[Any]) -> list[Any]:
    return [numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else x for x in values]


def _embedded(model: Any, inputs: Sequence[Any]) -> Any | None:
    """The model with its short integer inputs, its scalars, and what it calls scales and regions as initializers."""
    found = onnx.ModelProto()
    found.CopyFrom(model)
    for item, value in zip(model.graph.input, inputs, strict=False):
        array = np.asarray(value)
        is_short = array.dtype.kind in "iub" and array.size <= 64
        if is_short or (array.dtype.kind == "f" and (array.size == 1 or item.name in ("scales", "roi"))):
            found.graph.initializer.append(numpy_helper.from_array(array, item.name))
    return found if len(found.graph.initializer) > len(model.graph.initializer) else None


def page(outcomes: Sequence[Outcome], compiled: int) -> str:
    """The table of operators as a page."""
    counts = Counter(x.verdict for x in outcomes)
    rows: dict[str, list[Outcome]] = defaultdict(list)
    for item in outcomes:
        rows[item.operator].append(item)
    lines = [
        "# Node tests of ONNX",
        "",
        f"Written by `python -m tools.onnx_node_tests --write --compile N` with onnx {onnx.__version__}.",
        f"Of {len(outcomes)} tests {counts['passes']} pass by the reference, {counts['refused']} are refused by name,",
        f"{counts['wrong']} are wrong, {counts['old']} are of opsets before {OLDEST}.",
        f"Of those that pass {compiled} functions were compiled, and pass, too.",
        "",
        "| operator | pass | refused | why |",
        "|---|---|---|---|",
    ]
    for operator in sorted(rows):
        tests = rows[operator]
        refused = Counter(_short(x.reason) for x in tests if x.verdict == "refused")
        old = sum(x.verdict == "old" for x in tests)
        why = [*(reason for reason, _ in refused.most_common(3)), *([f"{old} before opset {OLDEST}"] if old else [])]
        passing = sum(x.verdict == "passes" for x in tests)
        lines.append(f"| {operator} | {passing} | {sum(refused.values())} | {'; '.join(why)} |")
    return "\n".join(lines) + "\n"


def _short(reason: str) -> str:
    found = re.sub(r"(input|output|initializer) '[^']*' (has|is)", r"\2", reason.partition(", which")[0])
    return found.replace("|", "\\|")[:90]


def main() -> None:
    """Run, print what is wrong, and write the page if that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=int, default=0, metavar="N", help="compile every Nth that passes, too")
    parser.add_argument("--only", default="", help="tests whose names contain this")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    pairs = [by_reference(case) for case in load_cases() if options.only in case.name]
    outcomes = [outcome for outcome, _ in pairs]
    wrong = [f"{x.name}: {x.reason}" for x in outcomes if x.verdict == "wrong"]
    passing = [test for _, tests in pairs for test in tests][:: options.compile] if options.compile else []
    wrong += compiled_wrong(passing)
    counts = dict(Counter(x.verdict for x in outcomes))
    sys.stdout.write("\n".join([str(counts), f"compiled: {len(passing)}", *wrong, ""]))
    if options.write:
        PAGE.write_text(page(outcomes, len(passing) - len(wrong)), encoding="utf-8")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
