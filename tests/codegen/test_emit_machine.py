"""Targets, and what LLVM makes of the modules: vector loops, alias facts, the same bytes every time."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from emit_harness import Compiled, emitted, optimised, parse
from needs import path_of

from aotensor.codegen.emit import emit_module
from aotensor.codegen.llvm import binding
from aotensor.codegen.machine import Machine
from aotensor.errors import GraphValueError, InternalError, UnsupportedError

X86 = Machine.parse("x86_64-linux-gnu", "haswell")

SAXPY = """
func.func @saxpy(%a: f64, %x: memref<?xf64>, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    %u = memref.load %x[%i] : memref<?xf64>
    %v = memref.load %y[%i] : memref<?xf64>
    %p = arith.mulf %a, %u fastmath<contract> : f64
    %s = arith.addf %p, %v fastmath<contract> : f64
    memref.store %s, %y[%i] : memref<?xf64>
  } ATTRIBUTES
  func.return
}"""
SUM = """
func.func @sum(%x: memref<?x?xf64>, %i: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %m = memref.dim %x, %c1 : memref<?x?xf64>
  %r = scf.for %j = %c0 to %m step %c1 iter_args(%s = %zero) -> (f64) {
    %v = memref.load %x[%i, %j] : memref<?x?xf64>
    %t = arith.addf %s, %v fastmath<FLAGS> : f64
    scf.yield %t : f64
  }
  func.return %r : f64
}"""
# two views of one workspace, one written from the other
VIEWS = """
func.func @f(%w: memref<?xi8>, %n: index, %p: index, %q: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.view %w[%p][%n] {scope = 0 : i64} : memref<?xi8> to memref<?xf64>
  %y = memref.view %w[%q][%n] {scope = 1 : i64} : memref<?xi8> to memref<?xf64>
  %z = memref.view %w[%p][%n] {scope = 2 : i64} : memref<?xi8> to memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    %u = memref.load %x[%i] : memref<?xf64>
    %v = arith.mulf %u, %u : f64
    memref.store %v, %y[%i] : memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    %u = memref.load %y[%i] : memref<?xf64>
    %v = arith.mulf %u, %u : f64
    memref.store %v, %z[%i] : memref<?xf64>
  }
  func.return
}"""


def test_elementwise_loop_is_a_vector_loop() -> None:
    llvm = optimised(SAXPY.replace("ATTRIBUTES", ""), X86)
    assert "fmul contract <4 x double>" in llvm
    assert "vector.memcheck" not in llvm and "diff.check" not in llvm


def test_reduction_is_a_vector_loop_if_it_may_reorder() -> None:
    assert "fadd reassoc contract <4 x double>" in optimised(SUM.replace("FLAGS", "reassoc, contract"), X86)
    assert "<4 x double>" not in optimised(SUM.replace("FLAGS", "contract"), X86)


def test_loop_attributes() -> None:
    assert "<4 x double>" not in optimised(SAXPY.replace("ATTRIBUTES", "{novector}"), X86)
    unrolled = optimised(SAXPY.replace("ATTRIBUTES", "{novector, unroll = 4 : i64}"), X86)
    assert unrolled.count("fmul contract double") >= 4 or unrolled.count("fmul contract <4 x double>") >= 2  # LLVM 20
    grouped = emitted(SAXPY.replace("ATTRIBUTES", "{parallel_accesses}"), X86)
    assert grouped.count("!llvm.access.group") == 3
    assert '"llvm.loop.parallel_accesses"' in grouped
    assert re.search(r"^!\d+ = distinct !{}$", grouped, re.MULTILINE)


def test_views_with_scopes_need_no_overlap_test() -> None:
    overlap_test = re.compile(r"vector\.memcheck|diff\.check")
    assert not overlap_test.search(optimised(VIEWS, X86))
    assert overlap_test.search(optimised(re.sub(r"\{scope = \d : i64\}", "", VIEWS), X86))


def test_every_parallel_loop_needs_no_overlap_test() -> None:
    """Each has an access group of its own, which its own metadata names."""
    text = re.sub(r"\{scope = \d : i64\}", "", VIEWS).replace("\n  }\n", "\n  } {parallel_accesses}\n")
    llvm = emitted(text, X86)
    groups = set(re.findall(r"!llvm\.access\.group (!\d+)", llvm))
    named = set(re.findall(r'!\{ !"llvm\.loop\.parallel_accesses", (!\d+) \}', llvm))
    assert len(groups) == 2 and groups == named
    assert not re.search(r"vector\.memcheck|diff\.check", optimised(text, X86))


def test_views_that_no_loop_uses_together_may_overlap() -> None:
    """%x and %z are the same memory at different times: LLVM must not hear that they are apart."""
    llvm = emitted(VIEWS, X86)
    nodes = dict(re.findall(r"^(!\d+) = (.*)$", llvm, re.MULTILINE))
    facts = {}
    for line in llvm.splitlines():
        if "!alias.scope" in line:
            scope, others = (re.search(rf"!{name} (!\d+)", line) for name in ("alias.scope", "noalias"))
            assert scope and others
            facts[nodes[scope[1]]] = nodes[others[1]]
    x, y, z = (next(name for name, text in nodes.items() if f'"f.view{k}"' in text) for k in range(3))
    assert facts == {f"!{{ {x} }}": f"!{{ {y} }}", f"!{{ {y} }}": f"!{{ {x}, {z} }}", f"!{{ {z} }}": f"!{{ {y} }}"}
    n = 40
    w = np.zeros(16 * n, "int8")
    w[: 8 * n].view("float64")[:] = np.arange(n) / n
    Compiled(VIEWS).f(w, n, 0, 8 * n)
    np.testing.assert_allclose(w[: 8 * n].view("float64"), (np.arange(n) / n) ** 4, rtol=1e-15)


def test_same_bytes() -> None:
    first, second = (Machine.host().object_code(Machine.host().optimise(emitted(VIEWS))) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("level", range(4))
def test_levels(level: int) -> None:
    x, y = np.arange(50.0), np.ones(50)
    Compiled(SAXPY.replace("ATTRIBUTES", ""), level).saxpy(2.0, x, y)
    np.testing.assert_array_equal(y, 2 * x + 1)


@pytest.mark.parametrize(
    ("triple", "kind"),
    [
        ("x86_64-linux-gnu", b"\x7fELF"), ("aarch64-linux-gnu", b"\x7fELF"), ("riscv64-linux-gnu", b"\x7fELF"),
        ("arm64-apple-macos", b"\xcf\xfa\xed\xfe"), ("x86_64-pc-windows-msvc", b"d\x86"), ("wasm32", b"\x00asm"),
    ],
)  # fmt: skip
def test_cross_compilation(triple: str, kind: bytes) -> None:
    machine = Machine.parse(triple, "generic")
    module = machine.optimise(emitted(SAXPY.replace("ATTRIBUTES", ""), machine))
    assert machine.object_code(module).startswith(kind)
    assert "saxpy" in machine.assembly(module)


def test_position_independent(tmp_path: Path) -> None:
    """A shared library can be linked from it: no relocation needs a fixed address."""
    compiler = path_of("cc")
    table = """
"memref.global"() <{
  sym_name = "t", sym_visibility = "private", type = memref<2xf64>, initial_value = dense<[1.0, 2.0]> : tensor<2xf64>
}> : () -> ()
func.func private @cos(f64) -> f64
func.func @f(%i: index) -> f64 {
  %t = memref.get_global @t : memref<2xf64>
  %v = memref.load %t[%i] : memref<2xf64>
  %r = func.call @cos(%v) : (f64) -> f64
  func.return %r : f64
}"""
    machine = Machine.host()
    code = machine.object_code(machine.optimise(emitted(table)))
    (tmp_path / "f.o").write_bytes(code)
    strict = ["-shared", "-Wl,-z,text", "-Wl,-z,defs"]
    done = subprocess.run(
        [compiler, *strict, "-o", tmp_path / "f.so", tmp_path / "f.o", "-lm"], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_host() -> None:
    host = Machine.host()
    assert host.triple == binding.get_default_triple()
    assert host.cpu == binding.get_host_cpu_name()
    assert Machine.parse(cpu="generic").features == ""


def test_machines_are_not_shared() -> None:
    """Objects of a shared machine have other bytes now and then."""
    assert Machine.host().target_machine() is not Machine.host().target_machine()


def test_wide_vectors_only_where_they_gain() -> None:
    assert "-prefer-256-bit" in Machine.parse("x86_64-linux-gnu", "sapphirerapids").features
    assert "-prefer-256-bit" not in Machine.parse("x86_64-linux-gnu", "skylake-avx512").features


def test_gathers_are_fast_where_nothing_mends_them() -> None:
    """By the name of a CPU, or where a virtual machine has an older one, by what came with it."""

    def has_slow_gathers(cpu: str, features: str = "") -> bool:
        return Machine.parse("x86_64-linux-gnu", cpu, features).facts.has_slow_gathers

    assert not has_slow_gathers("sapphirerapids") and not has_slow_gathers("icelake-server", "+avx512fp16")
    assert all(map(has_slow_gathers, ("znver4", "icelake-server", "x86-64-v4", "generic")))


@pytest.mark.parametrize(
    ("triple", "cpu", "features", "level", "error", "message"),
    [
        ("foo-bar", None, None, 3, UnsupportedError, "target foo-bar is not known"),
        ("s390x-linux-gnu", None, None, 3, UnsupportedError, "big-endian"),
        ("wasm32", "host", None, 3, GraphValueError, "which cannot run code for wasm32"),
        ("x86_64-linux-gnu", "sapphirerapid", None, 3, GraphValueError, "(?s)sapphirerapid is unknown.*sapphirerapids"),
        ("x86_64-linux-gnu", "i386", None, 3, GraphValueError, "cpu i386 with features none is not valid for"),
        ("x86_64-linux-gnu", None, "+avx9", 3, GraphValueError, r"cpu feature \+avx9 is unknown"),
        (None, None, "avx2 fma", 3, GraphValueError, "not understood"),
        (None, None, None, 4, GraphValueError, "0, 1, 2 or 3, not 4"),
    ],
)  # fmt: skip
def test_wrong_machines(
    triple: str | None, cpu: str | None, features: str | None, level: int, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Machine.parse(triple, cpu, features, level)


def test_malformed_module_is_our_bug() -> None:
    with pytest.raises(InternalError, match="LLVM refuses"):
        Machine.host().optimise("define void @f() { ret i32 0 }")


GOLDEN = """
func.func @f(%x: memref<?x3xf32>, %flag: i1) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %n = memref.dim %x, %c0 : memref<?x3xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %one) -> (f32) {
    %v = memref.load %x[%i, %c1] : memref<?x3xf32>
    %t = arith.addf %s, %v fastmath<reassoc> : f32
    scf.yield %t : f32
  } {novector}
  func.return %r : f32
}
// CHECK:       define float @"f"(ptr {{.*}}noalias readonly [[X:%.*]], i64 [[N:%.*]], i1
// CHECK:       [[GUARD:%.*]] = icmp slt i64 0, [[N]]
// CHECK-NEXT:  br i1 [[GUARD]], label %"loop", label %"done"
// CHECK:       loop:
// CHECK-NEXT:  [[I:%.*]] = phi  i64 [0, %"entry"], [[[NEXT:%.*]], %"loop"]
// CHECK-NEXT:  [[S:%.*]] = phi  float
// CHECK-NEXT:  [[ROW:%.*]] = mul nsw i64 [[I]], 3
// CHECK-NEXT:  [[AT:%.*]] = add nsw i64 [[ROW]], 1
// CHECK-NEXT:  [[P:%.*]] = getelementptr inbounds float, ptr [[X]], i64 [[AT]]
// CHECK-NEXT:  [[V:%.*]] = load float, ptr [[P]]
// CHECK-NEXT:  [[T:%.*]] = fadd reassoc float [[S]], [[V]]
// CHECK-NEXT:  [[NEXT]] = add nsw i64 [[I]], 1
// CHECK-NEXT:  [[AGAIN:%.*]] = icmp slt i64 [[NEXT]], [[N]]
// CHECK-NEXT:  br i1 [[AGAIN]], label %"loop", label %"done", !llvm.loop [[LOOP:!.*]]
// CHECK:       done:
// CHECK-NEXT:  phi  float
// CHECK:       [[OFF:!.*]] = !{ !"llvm.loop.vectorize.enable", i1 false }
// CHECK:       [[LOOP]] = !{ [[LOOP]], [[OFF]] }
"""


def test_golden(filecheck: Callable[[str, str], None]) -> None:
    filecheck(GOLDEN, str(emit_module(parse(GOLDEN), X86, exported=["f"])))


@pytest.mark.parametrize("count", [20, 1500])
def test_straight_code_of_many_instructions_gets_no_vectors(count: int) -> None:
    """LLVM looks for equal operations beside each other; the time it takes grows faster than the code."""
    lines = [f"  %a{k} = load double, ptr getelementptr (double, ptr @x, i64 {k})" for k in range(count)]
    lines += [f"  %b{k} = fmul double %a{k}, %a{k}" for k in range(count)]
    lines += [f"  store double %b{k}, ptr getelementptr (double, ptr @y, i64 {k})" for k in range(count)]
    body = "\n".join(lines)
    globals_ = "".join(f"@{name} = global [{count} x double] zeroinitializer\n" for name in "xy")
    text = f"{globals_}define void @f() {{\nentry:\n{body}\n  ret void\n}}\n"
    found = str(Machine.parse("x86_64-linux-gnu", "icelake-server").optimise(text))
    assert ("x double> " in found.split("define void @f")[1]) == (count == 20)
