"""The tests of the package `onnx`, by the reference and compiled.

    python -m tools.onnx_node_tests                     node tests by the reference: counts, and what is wrong
    python -m tools.onnx_node_tests --compile 1         all compiled, too
    python -m tools.onnx_node_tests --write             docs/onnx_nodes.md
    python -m tools.onnx_node_tests --score compiled    onnx.backend.test with our backend: what a scoreboard would show

A test gives shapes, axes and sizes as inputs at run time, where models have constants: for those that a rule must
know, the backend makes a library for their values.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import tempfile
import unittest
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
from aotensor.errors import AotensorError
from aotensor.importers.onnx.backend import AotensorBackend, Refused
from aotensor.importers.onnx.model import OLDEST, opsets_of

PAGE = Path(__file__).parents[1] / "docs" / "onnx_nodes.md"
_CHUNK = 40  # functions of a library


@dataclass(frozen=True)
class Prepared:
    """A test as a Function, with its inputs and expected outputs."""

    case: Any
    function: aot.Function
    arguments: list[Any]
    expected: list[Any]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a test. verdict: passes, refused, wrong, or old (an unsupported opset). operator: of the test's
    model.
    """

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
    """The operator that a test covers; tests of expanded functions count for the operator."""
    if "_expanded" in case.name:
        return "functions, written out"
    node = case.model.graph.node[-1]
    return f"{node.domain}.{node.op_type}" if node.domain else str(node.op_type)


def is_old(case: Any) -> bool:
    """Does the test use an unsupported opset?"""
    return opsets_of(case.model).get("", OLDEST) < OLDEST


def prepared(case: Any) -> Iterator[Prepared]:
    """Import a test: one Function per data set.

    Raises: Refused for a model that is refused; AotensorError for one that is invalid
    """
    for number, (inputs, outputs) in enumerate(case.data_sets):
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        model.graph.name = f"{case.name}_{number}"
        function, arguments = AotensorBackend.prepare(model, evaluate="reference").specialised(_arrays(inputs))
        yield Prepared(case, function, arguments, _arrays(outputs))


def _rounding(x: Any) -> float:
    """Four units in the last place of a half: every op here rounds its result to one."""
    return {"float16": 2.0**-8, "bfloat16": 2.0**-5}.get(str(x.dtype), 0.0)


def disagreement(test: Prepared, results: Sequence[Any]) -> str:
    """The first difference between results and expected outputs; "" if they agree."""
    for got, wanted in zip(results, map(np.asarray, test.expected), strict=True):
        got = np.asarray(got)
        if got.dtype != wanted.dtype or got.shape != wanted.shape:
            return f"{got.dtype}{list(got.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
        rtol, atol = (max(x, _rounding(wanted)) for x in (test.case.rtol, test.case.atol))
        if not np.allclose(got, wanted, rtol=rtol, atol=atol, equal_nan=True):
            return f"values differ: {got.ravel()[:4]} instead of {wanted.ravel()[:4]}"
    return ""


def by_reference(case: Any) -> tuple[Outcome, list[Prepared]]:
    """The outcome of a test by the reference, and its Functions if it passes."""
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
    """Tests whose compiled results differ, with the difference."""
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
    if isinstance(error, Refused) and error.operations:
        return "; ".join(
            sorted({f"{item.name}: {item.reason}" if item.reason else item.name for item in error.operations})
        )
    kind = "dtype or kind of value" if isinstance(error, Refused) else "types"
    return f"{kind}: {error.diagnostic.title.partition('   (')[0]}"


def _arrays(values: Sequence[Any]) -> list[Any]:
    return [numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else x for x in values]


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


def score(evaluate: str, only: str) -> tuple[str, list[str]]:
    """The scoreboard's result for the CPU tests: a sentence, and the failing tests with their errors. evaluate: as in
    `AotensorBackend.prepare`. only: part of the names of tests
    """
    from onnx.backend.test import BackendTest

    class Chosen(AotensorBackend):
        @classmethod
        def prepare(cls, model: Any, device: str = "CPU", **options: Any) -> Any:
            return super().prepare(model, device, evaluate=evaluate, **options)

    result = _Result(io.StringIO(), True, 0)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        tests = BackendTest(Chosen, __name__).exclude("_cuda$").include(only)
        tests.test_suite.run(result)
    chosen = {name for name in result.verdicts if re.search(only, name) and not name.endswith("_cuda")}
    counts = Counter(result.verdicts[name] for name in chosen)
    operators: dict[str, set[str]] = {"loaded": set(), "passed": set()}
    for items in tests._test_items.values():  # as onnx's own report does through a plugin of pytest
        for name, item in items.items():
            found = {node.op_type for proto in item.proto if proto is not None for node in proto.graph.node}
            operators["loaded"] |= found
            operators["passed"] |= found if result.verdicts.get(name) == "passed" else set()
    share = f"{counts['passed'] / max(len(chosen), 1):.1%}"
    sentence = (
        f"{counts['passed']} of {len(chosen)} tests pass ({share}), {counts['skipped']} are skipped, "
        f"{counts['failed']} fail; operators in models that pass: {len(operators['passed'])} of "
        f"{len(operators['loaded'])} in all models of the tests"
    )
    broken = [f"{test.id().rpartition('.')[2]}: {text.strip().splitlines()[-1]}" for test, text in result.failed]
    return sentence, broken


class _Result(unittest.TextTestResult):
    """verdicts: test → passed, skipped or failed. Models stay open for the report of operators only."""

    def __init__(self, *options: Any) -> None:
        super().__init__(*options)
        self.verdicts: dict[str, str] = {}

    @property
    def failed(self) -> list[tuple[unittest.TestCase, str]]:
        return [*self.failures, *self.errors]

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        ends = {"skipped": self.skipped, "failed": self.failed}
        found = [key for key, rows in ends.items() if rows and rows[-1][0] is test]
        self.verdicts[test.id().rpartition(".")[2]] = found[0] if found else "passed"


def main() -> None:
    """Run the tests, print what is wrong, and write the page if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=int, default=0, metavar="N", help="compile every Nth that passes, too")
    parser.add_argument("--only", default="", help="tests whose names contain this")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("--score", choices=("compiled", "reference"), help="onnx.backend.test, by our backend")
    options = parser.parse_args()
    if options.score:
        sentence, broken = score(options.score, options.only)
        sys.stdout.write("\n".join([sentence, *broken, ""]))
        raise SystemExit(bool(broken))
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
