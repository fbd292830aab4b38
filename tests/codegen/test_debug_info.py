"""Line tables of modules: LLVM accepts them for every program, and functions without lines have none."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from corpus import texts_of

import aotensor as aot
import aotensor.tensor as at
from aotensor.codegen.debug_info import recorded_path
from aotensor.codegen.emit import emit_module
from aotensor.codegen.llvm import binding
from aotensor.codegen.machine import Machine
from aotensor.ir.build import Program, build
from aotensor.ir.location import Locations
from aotensor.passes.pipeline import EXPAND_MATH, LOOP_RECIPE, NEST_RECIPE, TENSOR_RECIPE, PassRunner
from aotensor_runtime.container import Container
from aotensor_runtime.elf import ElfFile

X86 = Machine.parse("x86_64-linux-gnu", "haswell")


@texts_of()
def test_llvm_keeps_the_lines_of_every_program(make: Callable[[], Program]) -> None:
    """LLVM drops all debug information of a module in which a piece is wrong, and says so on stderr only."""
    sites = Locations()
    module, _ = build([make()], locations=sites)
    PassRunner().run(module, [*TENSOR_RECIPE, *NEST_RECIPE, *LOOP_RECIPE, EXPAND_MATH])
    text = str(emit_module(module, X86, sites=sites))
    parsed = binding.parse_assembly(text)
    assert str(parsed).count("!dbg !") == text.count("!dbg !") > 0
    assert instructions(text) == instructions(str(emit_module(module, X86)))


def instructions(text: str) -> list[str]:
    """LLVM IR without debug information, and without the numbers of metadata."""
    lines = re.sub(r",? !dbg !\d+", "", text).splitlines()
    return [re.sub(r"!\d+", "!N", line).rstrip() for line in lines if line and not line.startswith("!")]


def programs() -> list[aot.Function]:
    x = at.vector("x", dtype="float64", shape=("n",))
    A = at.matrix("A", dtype="float64", shape=("n", "m"))
    loss = at.softplus(A).sum(axis=1) @ at.exp(x)
    return [
        aot.function([A, x], [loss, aot.grad(loss, A)], name="rows"),
        aot.function([A, x], at.sort(x) + A.cumsum(axis=0).max(axis=1), name="orders"),
        aot.function([A], A @ A.T, name="product"),
    ]


@pytest.mark.parametrize("number", range(3))
def test_libraries_load_the_same(tmp_path: Path, number: int) -> None:
    f = programs()[number]
    options = {"target": "x86_64-linux-gnu", "cpu": "haswell"}
    data = [
        aot.compile(f, tmp_path / str(flag), debug_info=flag, **options).library.read_bytes()  # type: ignore[arg-type]
        for flag in (False, True)
    ]
    assert Container(data[0]).recorded_checksum() == Container(data[1]).recorded_checksum()
    assert ".debug_line" not in ElfFile(data[0]).sections
    assert ".debug_line" in ElfFile(data[1]).sections


def test_functions_without_lines_are_compiled(tmp_path: Path) -> None:
    x = at.vector("x", dtype="float64", shape=("n",))
    y = at.exp(x)
    x.site = y.site = None
    f = aot.function([x], y, name="f")
    library = aot.compile(f, tmp_path, debug_info=True)
    assert ".debug_line" not in ElfFile(library.library.read_bytes()).sections
    assert library.load().f([0.0])[0] == 1.0


def test_paths_are_those_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert recorded_path("model.py") == "model.py"
    assert recorded_path("../model.py") == "../model.py"
    assert recorded_path(str(tmp_path / "here" / "sub" / "model.py")) == str(Path("sub", "model.py"))
    assert recorded_path(str(tmp_path / "model.py")) == str(tmp_path / "model.py")
    assert recorded_path("<stdin>") == "<stdin>"
