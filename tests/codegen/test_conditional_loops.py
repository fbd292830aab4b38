"""LLVM does not vectorise loops that access memory under a condition: its vectors of these read elsewhere."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emit_harness import parse

import aotensor as aot
import aotensor.tensor as at
from aotensor.codegen.conditional_loops import mark_conditional_loops
from aotensor.codegen.emit import emit_module
from aotensor.codegen.machine import Machine
from aotensor.gradient import Rop, grad, hessian
from aotensor_runtime.arrays.poison import poisoned
from aotensor_runtime.errors import UnsupportedMachine

FORBIDDEN = '!"llvm.loop.vectorize.enable", i1 false'
READ = """
      %v = scf.if %c -> (f64) {
        %w = memref.load %x[%i] : memref<?xf64>
        scf.yield %w : f64
      } else {
        scf.yield %zero : f64
      }
      memref.store %v, %y[%i] : memref<?xf64>"""
CHOICE = """
      %w = memref.load %x[%i] : memref<?xf64>
      %v = scf.if %c -> (f64) {
        %u = arith.addf %w, %w : f64
        scf.yield %u : f64
      } else {
        scf.yield %zero : f64
      }
      memref.store %v, %y[%i] : memref<?xf64>"""


def _marks(loops: str) -> tuple[int, str]:
    """How many loops are marked, and the LLVM IR."""
    module = emit_module(
        parse(f"""
func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %n: index, %c: i1) {{
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  {loops}
  func.return
}}"""),
        Machine.parse("x86_64-linux-gnu", "x86-64-v4"),
    )
    return mark_conditional_loops(module), str(module)


def test_a_conditional_read() -> None:
    """What was said of vectors gives way; what was said of dependences stays."""
    attributes = "{parallel_accesses, interleave = 4 : i64, lane_bits = 64 : i64}"
    count, text = _marks(f"scf.for %i = %c0 to %n step %c1 {{ {READ} \n }} {attributes}")
    assert count == 1
    assert FORBIDDEN in text and "parallel_accesses" in text
    nodes = dict(re.findall(r"^(!\d+) = !\{ (.*) \}$", text, re.MULTILINE))
    properties = next(parts.split(", ")[1:] for name, parts in nodes.items() if parts.startswith(f"{name}, "))
    assert [nodes[name].partition(",")[0] for name in properties] == [
        '!"llvm.loop.parallel_accesses"', '!"llvm.loop.vectorize.enable"'
    ]  # fmt: skip


def test_a_conditional_value() -> None:
    """The memory is read in all iterations: LLVM may vectorise."""
    count, text = _marks(f"scf.for %i = %c0 to %n step %c1 {{ {CHOICE} \n }}")
    assert count == 0 and FORBIDDEN not in text


def test_a_loop_around() -> None:
    """LLVM may unroll the inner loop, so the outer one is marked too; the one beside is not."""
    count, text = _marks(f"""
      scf.for %j = %c0 to %n step %c1 {{
        scf.for %i = %c0 to %c3 step %c1 {{ {READ} \n }}
      }}
      scf.for %i = %c0 to %n step %c1 {{ {CHOICE} \n }}""")
    assert count == 2
    assert text.count("!llvm.loop") == 2


def test_a_while_loop() -> None:
    count, text = _marks(f"""
      %r = scf.while (%i = %c0) : (index) -> index {{
        %go = arith.cmpi slt, %i, %n : index
        scf.condition(%go) %i : index
      }} do {{
      ^bb0(%i: index): {READ}
        %next = arith.addi %i, %c1 : index
        scf.yield %next : index
      }}""")
    assert count == 1 and FORBIDDEN in text


def _functions() -> dict[str, tuple[aot.Function, int]]:
    """Second derivatives of sums of products of neighbours, and how many vectors of directions they have."""
    found = {}
    for n in (8, 12):
        x, v = at.vector("x", shape=(n,)), at.matrix("v", shape=(3, n))
        u = at.sin(x)
        y = u[1:] * u[:-1]
        cost = (y * y).sum()
        g = grad(cost, x)
        stack = at.stack([Rop(g, x, v[k]) for k in range(3)])
        outputs: list[list[Any]] = [[stack], [g * 2, stack + g]] + [[hessian(cost, x, sparse=True)]] * (n == 12)
        for k, results in enumerate(outputs):
            given = [x] if k == 2 else [x, v]
            found[f"f{n}_{k}"] = aot.function(given, results, name=f"f{n}_{k}"), len(given)
    return found


@pytest.mark.parametrize("cpu", ["x86-64-v3", "x86-64-v4"])
def test_second_derivatives_of_neighbours(cpu: str, tmp_path: Path, rng: np.random.Generator) -> None:
    """Before loops were marked, these read memory that nobody wrote (LLVM 20)."""
    functions = _functions()
    try:
        library = aot.compile([f for f, _ in functions.values()], tmp_path, name="neighbours", cpu=cpu).load()
    except UnsupportedMachine as error:
        pytest.skip(str(error))
    with poisoned():
        for name, (f, count) in functions.items():
            n = int(name[1:].partition("_")[0])
            arguments = [rng.normal(size=n), rng.normal(size=(3, n))][:count]
            for mine, exact in zip(library[name](*arguments), f.reference(*arguments), strict=True):
                pair = [x.toarray() if hasattr(x, "toarray") else x for x in (mine, exact)]
                np.testing.assert_allclose(*pair, rtol=1e-12, atol=1e-12, err_msg=name)


MERGED = """
target triple = "x86_64-unknown-linux-gnu"
define void @f(ptr noalias %a, ptr noalias %b) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %is.inside = icmp ult i64 %i, 10
  br i1 %is.inside, label %inside, label %last
inside:
  %before = add nsw i64 %i, -1
  %is.later = icmp ult i64 %before, 10
  br i1 %is.later, label %later, label %first
later:
  br label %read
last:
  br label %read
first:
  br label %latch
read:
  %k = phi i64 [ 9, %last ], [ %before, %later ]
  %p = getelementptr double, ptr %a, i64 %k
  %v = load double, ptr %p
  br label %latch
latch:
  %r = phi double [ %v, %read ], [ 0.0, %first ]
  %q = getelementptr double, ptr %b, i64 %i
  store double %r, ptr %q
  %next = add nuw nsw i64 %i, 1
  %is.done = icmp eq i64 %next, 11
  br i1 %is.done, label %done, label %loop
done:
  ret void
}
"""
"""b[0] = 0, b[i] = a[i - 1] for i to 10, as LLVM writes a read under a condition once it has merged branches."""


def _run(text: str, folder: Path, passes: str) -> Callable[[], np.ndarray[Any, Any]]:
    """b of MERGED after some passes of LLVM, for a = 1, 2, … 10 and numbers behind it."""
    code, library = folder / f"{passes}.o", folder / f"{passes}.so"
    made = subprocess.run(
        ["opt-22", "-mcpu=x86-64-v3", f"-passes={passes}", "-S"], input=text, capture_output=True, text=True, check=True
    )
    subprocess.run(
        ["llc-22", "-mcpu=x86-64-v3", "-relocation-model=pic", "-filetype=obj", "-o", str(code)],
        input=made.stdout, text=True, check=True,
    )  # fmt: skip
    subprocess.run(["cc", "-shared", "-o", str(library), str(code)], check=True)
    function = ctypes.CDLL(str(library)).f

    def call() -> np.ndarray[Any, Any]:
        a, b = np.arange(1.0, 41.0), np.zeros(11)
        function(ctypes.c_void_p(a.ctypes.data), ctypes.c_void_p(b.ctypes.data))
        return b

    return call


@pytest.mark.skipif(not all(map(shutil.which, ("opt-22", "llc-22", "cc"))), reason="needs opt-22 and llc-22 (llvm-22)")
def test_llvm_reads_elsewhere(tmp_path: Path) -> None:
    """The fault of LLVM that the marks are for. When this fails, LLVM is mended, and they can go."""
    right = np.arange(11.0)
    np.testing.assert_array_equal(_run(MERGED, tmp_path, "verify")(), right)
    assert not np.array_equal(_run(MERGED, tmp_path, "loop-vectorize")(), right)
