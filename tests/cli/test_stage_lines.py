"""Which line of the model a line of a stage comes from, in every notation that says it."""

from __future__ import annotations

from aotensor_cli.page.stage_lines import split_lines

LLVM = """define void @"f"(ptr %a) nounwind !dbg !2
{
  %x = load double, ptr %a, align 8, !dbg !3
  store double %x, ptr %a, !dbg !4
  ret void
}
!llvm.dbg.cu = !{!9}
!0 = !DIFile(directory: "", filename: "models/model.py")
!2 = distinct !DISubprogram(file: !0, line: 3, name: "f", scope: !0, unit: !9)
!3 = !DILocation(column: 0, line: 8, scope: !2)
!4 = !DILocation(column: 0, line: 0, scope: !2)
!9 = distinct !DICompileUnit(file: !0, language: DW_LANG_C)
!10 = !{!"branch_weights", i32 1}
"""

ASM = """\t.file\t"<string>"
\t.text
f:
\t.file\t0 "/home/me" "model.py"
\t.loc\t0 8 0 prologue_end
\tmovq\t%rdi, %rax
.LBB0_1:
\taddq\t%rax, %rax
\t.loc\t0 0 0 is_stmt 0
\tretq
\t.size\tf, 3
\t.section\t.debug_abbrev,"",@progbits
\t.byte\t1
"""

NEST = """builtin.module {
  func.func @f(%x: tensor<?xf64> loc("m.py":1:0)) {
    nest.for %i in %n parallel {
      %a = arith.addf %b, %b : f64 loc("m.py":3:0)
    } loc("m.py":2:0)
    %r = scf.if %c -> (f64) {
      scf.yield %a : f64 loc(unknown)
    } else {
      scf.yield %b : f64 loc("m.py":5:0)
    } loc("m.py":4:0)
  } loc(unknown)
} loc(unknown)
"""


def test_llvm_ir() -> None:
    found = split_lines("llvm", LLVM)
    assert found.places[:5] == [("model.py", 3), None, ("model.py", 8), None, None]
    assert found.lines[2] == "  %x = load double, ptr %a, align 8"
    assert found.lines[-1] == '!10 = !{!"branch_weights", i32 1}'
    assert not any("DI" in line for line in found.lines)


def test_assembly() -> None:
    found = split_lines("asm", ASM)
    code = {line.strip(): place for line, place in zip(found.lines, found.places, strict=True) if "q" in line}
    assert [*code.values()] == [("model.py", 8), ("model.py", 8), None]
    assert not any("debug" in line or ".loc" in line or ".byte" in line for line in found.lines)


def test_regions_have_the_place_behind_their_end() -> None:
    found = split_lines("nest", NEST)
    numbers = [place and place[1] for place in found.places]
    assert numbers == [None, None, 2, 3, 2, 4, None, 4, 5, 4, None, None]
    assert found.lines[2:4] == ["    nest.for %i in %n parallel {", "      %a = arith.addf %b, %b : f64"]
    assert found.begins["nest.for"] == [2] and found.begins["scf.if"] == [5]


def test_graphs_and_names_that_look_like_places() -> None:
    text = "function f(%x: float64[n]) {\n  %0: float64[n] = exp(%x)   # a # b.py:7\n  return y = %0\n}\n"
    assert split_lines("graph", text).places == [None, ("a # b.py", 7), None, None]
    hostile = '  %a = "x.y"(%b) {n = "loc(unknown) <script>"} : f64 loc("a\\"b.py":7:0)\n'
    assert split_lines("loops", hostile).places == [('a"b.py', 7)]
