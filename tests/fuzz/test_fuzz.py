"""The fuzzer: a short run of each kind is clean, and what is planted is found and made small."""

from __future__ import annotations

import io
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tools.fuzz import artifact_worker, artifacts, graph_worker, graphs, levels, loops, rows, sanitizers, structures
from tools.fuzz.campaign import Campaign
from tools.fuzz.draft import drawn_small
from tools.fuzz.program import Input, Options, Program, Step
from tools.fuzz.shrink import program_text, shrunk
from tools.fuzz.structure_cases import CANONICAL, Case, drawn

from aotensor.codegen.machine import Machine
from aotensor.ops.elementwise.base import Elementwise

CAN_SANITIZE = sanitizers.CLANG is not None and next(Path("/usr/lib/llvm-22").rglob("libclang_rt.msan-x86_64.a"), None)
needs_cc = pytest.mark.needs("cc")
PLAIN = Program(
    0, (("n", (3, 8)),), (Input("x", "at.tensor(dtype='float64', shape=('n',))", "v.floats(1, (n,))"),),
    (
        Step("a", "at.tanh(x)", "np.tanh(x)", ("x",)), Step("b", "at.sin(a)", "np.sin(a)", ("a",)),
        Step("c", "b[::-1]", "b[::-1]", ("b",)), Step("d", "c.sum()", "c.sum()", ("c",)),
    ),
    ("c", "d"), ("x",), ("values", "lop", "rop", "hvp"),
)  # fmt: skip
"""A program with a sine in the middle."""


def _clean(what: str, seed: int, cases: int, run: Any) -> None:
    said = io.StringIO()
    campaign = Campaign(what, cases, float("inf"), seed, stream=said)
    run(campaign)
    assert campaign.found == {}, said.getvalue()
    assert campaign.done == cases
    assert f"{what}: {cases} of {cases} cases" in said.getvalue()


@pytest.mark.unlimited("the one test that draws graphs", "ci")
def test_graphs() -> None:
    _clean("graphs", 48, 8, graphs.run)


def test_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "CPUS", levels.CPUS[:1])
    _clean("levels", 7, 2, levels.run)


def test_every_combination_of_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """In six batches; static and named dims, strict and contract in each of them."""
    monkeypatch.setattr(levels, "can_run", lambda cpu: True)
    found = [levels.levels_of(levels.BATCH * k) for k in range(6)]
    for one in found:
        assert [x.opt_level for x in one] == [0, 3, 3, 3]
        assert one[0].is_static and replace(one[0], opt_level=3) in one[1:]
        assert {x.is_static for x in one} == {True, False} and {x.fp for x in one} == {"strict", "contract"}
    combinations = {(x.cpu, x.fp, x.is_static) for one in found for x in one[1:]}
    assert len(combinations) == 12
    assert {x[0].cpu for x in found} == {*levels.CPUS} and {x[0].fp for x in found} == {"strict", "contract"}


def test_levels_share_graphs_results_and_llvm_ir(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two levels that differ in the optimiser alone have one lowering, and code of their own."""
    lowered: list[Options] = []
    codes: list[tuple[int, bytes]] = []
    lower, write = graph_worker.library_of, graph_worker.write_library

    def counted(functions: Any, options: Options) -> Any:
        lowered.append(options)
        return lower(functions, options)

    def kept(library: Any, folder: Path) -> Any:
        codes.append((library.machine.opt_level, library.objects[0]))
        return write(library, folder)

    monkeypatch.setattr(graph_worker, "library_of", counted)
    monkeypatch.setattr(graph_worker, "write_library", kept)
    every = [Options(0, is_static=True), Options(3, is_static=True), Options(3, "strict", is_static=True)]
    assert graph_worker.findings_by_level([asdict(x) for x in every], [NEIGHBOURS]) == []
    assert lowered == [every[0], every[2]]
    for cpu in levels.CPUS:  # so that passes and emission do the same for both
        assert replace(Machine.parse(cpu=cpu, opt_level=0), opt_level=3) == Machine.parse(cpu=cpu)
        assert Machine.parse(cpu=cpu, opt_level=0).facts == Machine.parse(cpu=cpu).facts
    assert [level for level, _ in codes] == [0, 3, 3] and len({code for _, code in codes}) == 3


def test_a_level_that_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that are a little off at one level are told with that level."""
    right = graph_worker.compiled_library
    program = replace(PLAIN, dims=(("n", (12,)),), wants=("stack",))

    def wrong(functions: Any, options: Options, folder: Path, work: Any) -> Any:
        call = right(functions, options, folder, work)[program.name]
        off = 1 + 1e-8 * (options.fp == "strict")
        return SimpleNamespace(**{program.name: lambda *given: [x * off for x in call(*given)]})

    monkeypatch.setattr(graph_worker, "compiled_library", wrong)
    found = graph_worker.findings_by_level([asdict(x) for x in (Options(), Options(fp="strict"))], [program])
    assert [x.kind for x in found] == ["lowering"]
    assert "stack of x" in found[0].detail and "fp='strict'" in found[0].detail


@pytest.mark.parametrize("is_static", [False, True])
def test_the_text_of_a_program_with_second_derivatives(is_static: bool, capsys: pytest.CaptureFixture[str]) -> None:
    drawn_ones = (drawn_small(seed) for seed in range(100))
    program = next(x for x in drawn_ones if x.wants == ("shared",))
    names: dict[str, Any] = {}
    exec(program_text(replace(program, options=Options(is_static=is_static))), names)
    assert all(isinstance(n, int) for n in names["f"].inputs[0].tensor_type.shape) == is_static
    assert capsys.readouterr().out.count("array(") >= 4


NEIGHBOURS = Program(
    0, (("n", (12,)),), (Input("x", "at.tensor(dtype='float64', shape=(n,))", "v.floats(1, (n,))"),),
    (
        Step("a", "at.sin(x)", "np.sin(x)", ("x",)),
        Step("b", "a[1:] * a[:-1]", "a[1:] * a[:-1]", ("a",)),
    ),
    ("b",), ("x",), ("shared",), Options(is_static=True),
)  # fmt: skip
"""With LLVM 20 it read memory that nobody wrote, until loops with conditional accesses were kept from vectors."""


@pytest.mark.skipif(not CAN_SANITIZE, reason="needs clang-22 and libclang-rt-22-dev")
@pytest.mark.parametrize("form", [("memory", True), ("address", False)])
def test_sanitizers(form: tuple[str, bool]) -> None:
    """In a C program under a sanitizer: code of LLVM's passes, and code that clang makes of the emitted LLVM IR."""
    assert sanitizers.findings([NEIGHBOURS], [form]) == []


@pytest.mark.skipif(not CAN_SANITIZE, reason="needs clang-22 and libclang-rt-22-dev")
def test_memory_that_nobody_wrote_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that skips the first function leaves its results as they were."""
    right = sanitizers.write_program

    def wrong(library: Any, kind: str, is_optimised: bool, folder: Path) -> Path:
        monkeypatch.setattr(sanitizers, "CALL", "    if (0 && {name}({names}, NULL)) return 4;")
        return right(library, kind, is_optimised, folder)

    monkeypatch.setattr(sanitizers, "write_program", wrong)
    (found,) = sanitizers.findings([NEIGHBOURS], [("memory", True)])
    assert found.kind == "sanitizer" and "MemorySanitizer: use-of-uninitialized-value" in found.detail


def test_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "CPUS", levels.CPUS[:1])
    _clean("rows", 700 * rows.EXTENTS + 11, 6, rows.run)


@pytest.mark.parametrize("name", ["eigh-of-two", "sqrtm", "solve-matrix"])
def test_square_matrices_stay_regular(name: str) -> None:
    """Repeated rows alone would make them singular, and derivatives of eigenvectors infinite."""
    case = next(case for case in rows.tables()[0] if case.id == name)
    for extent in (2, 25, 40):
        arrays = rows.at_extent(case, extent).draw(np.random.default_rng(7))
        assert arrays[0].shape == (extent, extent)
        assert all(np.linalg.cond(x) < 50 for x in arrays if x.shape == (extent, extent))


def test_a_row_that_is_wrong_is_found() -> None:
    """Where only one row of a result differs."""
    cases, _ = rows.tables()
    position = next(k for k, case in enumerate(cases) if case.id == "diag-of-vector")
    row = rows._row(position * rows.EXTENTS + 6)
    assert row is not None and row.arrays[0].shape == (7,)
    assert list(rows.findings([row], "generic")) == []
    off = np.asarray(row.expected[0]).copy()
    off[-1] += 1e-9
    (found,) = rows.findings([replace(row, expected=[off, *row.expected[1:]])], "generic")
    assert found.detail.startswith("diag-of-vector at 7, generic: result 0 is")


@pytest.mark.skipif(not loops.is_possible(), reason="needs mlir-opt and mlir-runner (mlir-22-tools)")
def test_loops() -> None:
    """MLIR's tools run the loop level, with masks too."""
    _clean("loops", 3, 1, loops.run)
    assert loops.findings([NEIGHBOURS], Options(3, cpu="x86-64-v4")) == []


@pytest.mark.unlimited("the one test that damages libraries", "ci")
def test_artifacts() -> None:
    _clean("artifacts", 1, 100, artifacts.run)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C program for compressed rows with 32-bit indices."""
    return structures.write_program(structures.FORMATS[0], tmp_path_factory.mktemp("structures"))


@needs_cc
@pytest.mark.unlimited("the one test that draws C structures", "ci")
def test_structures(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structures, "write_program", lambda kind, folder: program)
    _clean("structures", 0, 500, structures.run)


@needs_cc
@pytest.mark.unlimited("the one test of AddressSanitizer", "ci")
def test_an_access_out_of_bounds_is_found(program: Path) -> None:
    """Matrices that are called canonical are not looked at: what is untrue of them ends in foreign memory."""
    whole = [drawn(seed, *structures.FORMATS[0]) for seed in range(400)]
    case = next(x for x in whole if not x.faults and x.function == "scale" and x.n == x.p > 3 and x.A.nnz > 3)
    assert case.A.indices is not None
    beyond = replace(case.A, indices=case.A.indices + np.int32(case.p))
    found = structures.findings(program, [case, replace(case, A=beyond, flags=CANONICAL), replace(case, A=beyond)])
    assert [x.kind for x in found] == ["sanitizer"]
    assert "heap-buffer-overflow" in found[0].detail


@needs_cc
def test_a_wrong_status_is_found(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Case, "faults", {structures.OK + 99})
    found = structures.findings(program, [drawn(seed, *structures.FORMATS[0]) for seed in range(10)])
    assert len(found) == 10
    assert all("expected 99" in x.detail for x in found)


def test_a_derivative_that_is_a_little_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Elementwise.pullback_to

    def wrong(self: Any, *given: Any) -> Any:
        found = right(self, *given)
        return [x * (1 + 1e-5) for x in found] if self.name == "sin" else found

    assert graph_worker.findings([PLAIN]) == []
    monkeypatch.setattr(Elementwise, "pullback_to", wrong)
    assert {x.kind for x in graph_worker.findings([PLAIN])} == {"lop", "hvp"}


def test_rounding_of_terms_that_cancel_is_no_finding() -> None:
    """The derivative is 0, and differences give the rounding of e²⁰ˣ over the step."""
    steps = (
        Step("a", "at.exp(20 * x)", "np.exp(20 * x)", ("x",)),
        Step("b", "a - a.mean()", "a - a.mean()", ("a",)),
        Step("c", "b.sum()", "b.sum()", ("b",)),
    )
    program = replace(PLAIN, dims=(("n", tuple(range(5, 35))),), steps=steps, outputs=("c",), wants=("lop",))
    assert graph_worker.findings([program]) == []


def test_a_value_that_is_wrong_is_found() -> None:
    other = replace(PLAIN.steps[1], meaning="np.sin(a) + 1e-7")
    found = graph_worker.findings([replace(PLAIN, steps=(PLAIN.steps[0], other, *PLAIN.steps[2:]))])
    assert {x.kind for x in found} == {"compiled", "reference"}


def test_a_program_shrinks_to_what_fails() -> None:
    small = shrunk(PLAIN, lambda program: any("sin" in step.aot for step in program.steps))
    assert [step.aot for step in small.steps] == ["at.sin(x)"]
    assert small.samples == 1
    assert dict(small.dims) == {"n": (0,)}
    assert small.outputs == ("b",)


def test_a_report_can_be_run(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    exec(program_text(PLAIN), names)
    f, arguments = names["f"], names["arguments"]
    x = arguments[0]
    np.testing.assert_allclose(f.reference(*arguments)[0], np.sin(np.tanh(x))[::-1], rtol=1e-14)
    assert capsys.readouterr().out.count("array(") >= 8


def test_another_result_of_a_library_is_found(tmp_path: Path) -> None:
    bench = artifact_worker.make_bench(tmp_path)
    changed = replace(bench, expected={**bench.expected, "chosen": np.zeros(3)})
    found = [x for seed in range(60) for x in artifact_worker.examined(changed, seed)]
    assert found and all("chosen gives" in x.detail for x in found)
