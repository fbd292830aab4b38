"""A kernel in assembly by itself: which functions it has, what is left out, and lines where there are line tables."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.codegen.machine import Machine
from aotensor.driver.build import Build
from aotensor.driver.recipe import Options
from aotensor.driver.text.kernel_text import file_names, kernel_text, unescaped
from aotensor.passes.target import Target

LOCATED = """
define hidden void @f.kernel(ptr %p, i64 %n) !dbg !4 {
entry:
  %x = load double, ptr %p, !dbg !8
  %y = fmul double %x, 3.0, !dbg !8
  store double %y, ptr %p, !dbg !9
  %q = getelementptr double, ptr %p, i64 %n
  store double 1.0, ptr %q, !dbg !10
  ret void, !dbg !9
}
define void @f(ptr %p) {
  call void @f.kernel(ptr %p, i64 2)
  ret void
}
define void @g.kernel(ptr %p) {
  store double 5.0, ptr %p
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_Python, file: !1, isOptimized: true, emissionKind: FullDebug)
!1 = !DIFile(filename: "some/model.py", directory: "")
!2 = !{i32 7, !"Dwarf Version", i32 5}
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "f.kernel", file: !1, line: 7, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{null}
!8 = !DILocation(line: 7, column: 0, scope: !4)
!9 = !DILocation(line: 9, column: 0, scope: !4)
!10 = !DILocation(line: 0, column: 0, scope: !4)
"""
COMMENTS = {"x86_64-unknown-linux-gnu": "#", "aarch64-unknown-linux-gnu": "//", "riscv64-unknown-linux-gnu": "#"}


@pytest.mark.parametrize("triple", COMMENTS)
def test_line_tables_become_comments(triple: str) -> None:
    machine = Machine.parse(triple, "generic")
    assembly = machine.assembly(machine.optimise(LOCATED))
    mark = machine.comment
    assert mark == COMMENTS[triple] and ".loc" in assembly
    text = kernel_text(
        assembly, {"f.kernel": [("model.py", 7), ("model.py", 9)]}, mark, lambda file, line: f"line {line} of {file}"
    )
    lines = text.splitlines()
    assert lines[0] == f"{mark} behind each line of the model, what was made for it"
    assert lines[1:5] == [
        f"{mark} f.kernel, made of:",
        f"{mark}   model.py:7  line 7 of model.py",
        f"{mark}   model.py:9  line 9 of model.py",
        "f.kernel:",
    ]
    body = text.partition("f.kernel:\n")[2].partition(f"{mark} constants")[0]
    noted = re.findall(rf"^  {mark} (.*)$", body, re.MULTILINE)
    assert set(noted) == {f"model.py:{n}  line {n} of model.py" for n in (7, 9)} | {"no line of the model"}
    assert all(one != other for one, other in pairwise(noted))
    assert not re.search(r"^\s*\.(loc|cfi|file|section|p2align|type)|Ltmp|func_begin|g\.kernel", text, re.MULTILINE)


def test_names_of_files_are_read_as_they_were() -> None:
    r"""Bytes of UTF-8 and quotes have escapes, and `\\` before digits is none of those."""
    lines = ['\t.file\t1 "some" "mod\\303\\250le \\"x\\".py"', '\t.file\t2 "\\\\303.py"', '\t.file\t"<string>"']
    assert file_names(lines) == {1: 'modèle "x".py', 2: r"\303.py"}
    assert unescaped(r"mod\C3\A8le \22x\22.py", 16) == 'modèle "x".py'


def kernel(f: aot.Function, facts: Target | None = None) -> str:
    return Build([f], None, Options(facts=facts)).kernel(f.name)


def test_chunks_and_outlined_loops_belong_to_the_kernel() -> None:
    x = at.vector("x", dtype="float64", shape=("n",))
    y = x
    for _ in range(3):
        y = at.cumsum(at.exp(y / y.sum()))
    text = kernel(aot.function([x], y, name="f"), Target(loops_together=1, smallest_function=4))
    symbols = re.findall(r"^(f\.\w+):$", text, re.MULTILINE)
    assert symbols[0] == "f.kernel" and any(name.startswith("f.loops") for name in symbols)
    assert any(name.startswith("f.chunk") for name in symbols)
    assert len(set(symbols)) == len(symbols) and not re.search(r"^(entry\.|f_|f:|aotensor)", text, re.MULTILINE)
    assert not {"f.extents", "f.workspace_bytes"} & set(symbols)
    assert text.count(f"{Path(__file__).name}:") >= len(symbols)


def test_what_is_read_and_jumped_to_is_there() -> None:
    """Every label that the text names is in it, but those of other functions."""
    x = at.vector("x", dtype="float64", shape=("n",))
    text = kernel(aot.function([x], at.exp(x) + 2.5, name="f"))
    used = set(re.findall(r"(?<![\w.])\.?L(?:BB|CPI|JTI)\d+_\d+", text))
    defined = set(re.findall(r"^(\.?L(?:BB|CPI|JTI)\d+_\d+):", text, re.MULTILINE))
    assert used and used == defined
