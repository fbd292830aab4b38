"""The tests of StableHLO's own interpreter, by the reference and compiled.

    git clone --depth 1 https://github.com/openxla/stablehlo
    python -m tools.stablehlo_tests stablehlo                       all by the reference: counts, and what is wrong
    python -m tools.stablehlo_tests stablehlo --compile 4           every fourth that passes compiled, too
    python -m tools.stablehlo_tests stablehlo --compile 4 --write   docs/stablehlo_tests.md

They are stablehlo/tests/interpret, written by hand, and stablehlo/testdata, which JAX has written. What a test calls
its inputs are arguments of its Function, and what it compares are the outputs.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import aotensor as aot
from aotensor.errors import AotensorError
from aotensor.importers.lax.rules import RULES
from aotensor.importers.stablehlo import DamagedText, NoCounterpart
from aotensor.importers.stablehlo.functions import function_of
from aotensor.importers.stablehlo.reader import read_module
from aotensor.importers.stablehlo.structure import Function, Module, Operation, Value

PAGE = Path(__file__).parents[1] / "docs" / "stablehlo_tests.md"
_CONST = re.compile(r"check\.expect_(\w+)_const\s+(%[\w#]+),\s*(dense<[^>]*>)\s*:\s*(tensor<[^>]*(?:>>|>))")
_PAIR = re.compile(r"check\.expect_(\w+)\s+(%[\w#]+),\s*(%[\w#]+)[^:\n]*:\s*\(?(tensor<[^>]*(?:>>|>))[^\n]*")
_CHUNK = 40  # functions of a library


@dataclass(frozen=True)
class Test:
    """A test.   name: of its file, with the function; comparisons: eq, close or almost_eq of each pair of outputs"""

    name: str
    group: str
    function: aot.Function
    arguments: list[Any]
    comparisons: list[str]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a text. verdict: passes, refused, wrong, or reads (for a text without comparisons)."""

    name: str
    group: str
    verdict: str
    reason: str = ""


def texts_in(folder: Path) -> Iterator[tuple[str, str, str]]:
    """The texts of a folder: name, group and content."""
    for path in sorted((folder / "stablehlo" / "tests" / "interpret").rglob("*.mlir")):
        if path.stem == "check":
            continue  # of the comparisons themselves
        for number, text in enumerate(re.split(r"^// -----.*$", path.read_text(), flags=re.MULTILINE)):
            yield f"interpret_{path.stem}_{number}", f"interpret/{path.stem}", text
    for path in sorted((folder / "stablehlo" / "testdata").rglob("*.mlir")):
        yield f"testdata_{path.stem}", _primitive(path.stem), path.read_text()


def _primitive(name: str) -> str:
    """The JAX primitive that a program tests, by the name of its file; else the first word of the name."""
    name = name.removeprefix("vmap_")
    known = (rule.replace("-", "_") for rule in RULES)
    return max((rule for rule in known if f"{name}_".startswith(f"{rule}_")), key=len, default=name.split("_")[0])


def _with_calls(text: str) -> str:
    """Rewrite comparisons with constants, or of two values, to custom calls as in JAX's texts."""

    def call(found: re.Match[str]) -> str:
        kind, x, wanted, aval = found.groups()
        label = f"%wanted_{found.start()}"
        return (
            f"{label} = stablehlo.constant {wanted} : {aval}\n"
            f"stablehlo.custom_call @check.expect_{kind}({x}, {label}) : ({aval}, {aval}) -> ()"
        )

    text = _CONST.sub(call, text)
    return _PAIR.sub(r"stablehlo.custom_call @check.expect_\1(\2, \3) : (\4, \4) -> ()", text)


def _is_check(operation: Operation) -> bool:
    return operation.name == "stablehlo.custom_call" and str(operation.words[:1]).find("check.") >= 0


def tests_in(name: str, group: str, text: str) -> Iterator[Test]:
    """The tests of a text, one for each function that compares.   Raises: AotensorError"""
    module = read_module(_with_calls(text), name)
    for entry, f in list(module.functions.items()):
        if any(_is_check(operation) for operation in f.body.operations):
            yield _prepared(module, f, f"{name}_{entry}" if entry != "main" else name, group)


def _prepared(module: Module, f: Function, name: str, group: str) -> Test:
    values, kinds, pairs = [], [], []
    for operation in list(f.body.operations):
        if _is_check(operation):
            f.body.operations.remove(operation)
            kinds.append(str(operation.words[0]).removeprefix("check.expect_").removeprefix("check."))
            pairs += operation.operands[:2]
        elif operation.name == "func.call" and operation.words == ["inputs"] and not operation.operands:
            f.body.operations.remove(operation)
            f.body.arguments += operation.results
            values += _constants(module.functions["inputs"])
        elif operation.name == "stablehlo.constant" and "testdata" not in name and _is_array(operation):
            f.body.operations.remove(operation)
            f.body.arguments += operation.results
            values.append(operation.attributes["value"])
    f.body.results = pairs
    f.labels = [""] * len(f.body.arguments)
    f.notes = [{} for _ in f.body.arguments]
    f.result_notes = [{} for _ in pairs]
    try:
        made = function_of(module, name, f.name, re.sub(r"\W", "_", name))
    except NoCounterpart:
        if not values:
            raise
        f.body.arguments, restored = [], list(zip(f.body.arguments, values, strict=True))
        f.body.operations[:0] = [_constant(x, value) for x, value in restored]
        f.labels, f.notes, values = [], [], []
        made = function_of(module, name, f.name, re.sub(r"\W", "_", name))
    return Test(name, group, made, values, kinds)


def _is_array(operation: Operation) -> bool:
    return isinstance(operation.attributes["value"], np.ndarray)


def _constant(x: Value, value: Any) -> Operation:
    return Operation("stablehlo.constant", 0, results=[x], attributes={"value": value})


def _constants(f: Function) -> list[Any]:
    known = {id(o.results[0]): o.attributes["value"] for o in f.body.operations if o.name == "stablehlo.constant"}
    found = [known.get(id(x)) for x in f.body.results]
    return [np.full(x.aval.shape, v.value, x.aval.dtype) if hasattr(v, "value") else v
            for x, v in zip(f.body.results, found, strict=True)]  # fmt: skip


_ROUNDING = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-5, "complex64": 2e-5}


def disagreement(test: Test, results: Sequence[Any]) -> str:
    """The first failed comparison of results; "" if they agree."""
    for kind, (x, y) in zip(test.comparisons, zip(results[::2], results[1::2], strict=True), strict=True):
        got, wanted = np.asarray(x), np.asarray(y)
        if got.dtype != wanted.dtype or got.shape != wanted.shape:
            return f"{got.dtype}{list(got.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
        if got.dtype.kind in "biu":
            is_right = bool(np.array_equal(got, wanted))
        else:
            rtol = max(_ROUNDING.get(str(got.dtype), 1e-10), 1e-5 if kind.startswith("almost") else 0)
            wide = "complex128" if got.dtype.kind == "c" else "float64"
            is_right = np.allclose(got.astype(wide), wanted.astype(wide), rtol, rtol, equal_nan=True)
        if not is_right:
            return f"values differ: {got.ravel()[:4]} instead of {wanted.ravel()[:4]}"
    return ""


def _listed(found: Any) -> list[Any]:
    return list(found.values()) if isinstance(found, dict) else found if isinstance(found, list) else [found]


def by_reference(name: str, group: str, text: str) -> tuple[Outcome, list[Test]]:
    """The outcome of a text by the reference, and its tests if they pass."""
    try:
        tests = list(tests_in(name, group, text))
    except AotensorError as error:
        return Outcome(name, group, "refused", _reason(error)), []
    for test in tests:
        with np.errstate(all="ignore"):
            try:
                wrong = disagreement(test, _listed(test.function.reference(*test.arguments)))
            except AotensorError as error:
                wrong = str(error)
        if wrong:
            return Outcome(name, group, "wrong", wrong), []
    if not tests:
        return Outcome(name, group, *_only_read(name, text)), []
    return Outcome(name, group, "passes"), tests


def _only_read(name: str, text: str) -> tuple[str, str]:
    """The verdict on a text that compares nothing."""
    try:
        module = read_module(text, name)
        function_of(module, name, "main" if "main" in module.functions else next(iter(module.functions)))
    except AotensorError as error:
        return "refused", _reason(error)
    return "reads", ""


def _reason(error: AotensorError) -> str:
    if isinstance(error, NoCounterpart):
        return "; ".join(sorted({f"{x.name}{x.reason and ': ' + x.reason}" for x in error.operations}))
    kind = "not read" if isinstance(error, DamagedText) else "refused"
    return f"{kind}: {re.sub(r'^[^ ]*:[0-9]*: ?', '', error.diagnostic.title)}"


def compiled_wrong(tests: Sequence[Test]) -> list[str]:
    """Tests whose compiled results differ, with the difference."""
    wrong = []
    for start in range(0, len(tests), _CHUNK):
        chunk = tests[start : start + _CHUNK]
        with tempfile.TemporaryDirectory() as folder:
            library = aot.compile([test.function for test in chunk], folder, name="tests", opt_level=1).load()
        for test in chunk:
            if text := disagreement(test, _listed(library[test.function.name](*test.arguments))):
                wrong.append(f"{test.name}: {text}")
    return wrong


def page(outcomes: Sequence[Outcome], compiled: int) -> str:
    """The table of groups."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for one in outcomes:
        groups[one.group].append(one)
    total = Counter(one.verdict for one in outcomes)
    lines = [
        "# StableHLO's own tests", "",
        "Written by `python -m tools.stablehlo_tests FOLDER --compile N --write` from a checkout of openxla/stablehlo:",
        "those of its interpreter (`interpret/`), and programs of JAX with the values that JAX has computed.",
        "",
        f"{total['passes']} pass, {total['refused']} are refused, {total['wrong']} are wrong. {total['reads']} more",
        "are read, programs with dynamic extents, and compare nothing.",
        f"{compiled} of those that pass were compiled, and agree.",
        "",
        "| about | pass | read | refused | why |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for group, found in sorted(groups.items()):
        counts = Counter(one.verdict for one in found)
        reasons = Counter(one.reason for one in found if one.verdict in ("refused", "wrong"))
        why = "; ".join(re.sub(r"[|<>\n]", " ", reason)[:150] for reason, _ in reasons.most_common(2))
        numbers = " | ".join(str(counts[one]) for one in ("passes", "reads", "refused"))
        lines.append(f"| {group} | {numbers} | {why} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the tests, print counts and failures, and write the page if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="a regular expression for names")
    parser.add_argument("--compile", type=int, default=0, metavar="N", help="compile every N-th test that passes")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    outcomes, tests = [], []
    for name, group, text in texts_in(options.folder):
        if re.search(options.only, name):
            outcome, passed = by_reference(name, group, text)
            outcomes.append(outcome)
            tests += passed
            if outcome.verdict == "wrong":
                sys.stdout.write(f"wrong: {outcome.name}: {outcome.reason}\n")
    chosen = tests[:: options.compile] if options.compile else []
    wrong = compiled_wrong(chosen)
    for line in wrong:
        sys.stdout.write(f"wrong when compiled: {line}\n")
    counts = Counter(one.verdict for one in outcomes)
    told = ", ".join(f"{counts[one]} {one}" for one in ("passes", "reads", "refused", "wrong"))
    sys.stdout.write(f"{told}; {len(chosen)} compiled\n")
    if options.write:
        PAGE.write_text(page(outcomes, len(chosen)), encoding="utf-8")
    return 1 if wrong or counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
