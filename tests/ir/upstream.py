"""MLIR's own tools on our loop level: does mlir-opt accept a module, and does mlir-runner compute the same?"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from typing import Final

import numpy as np
from needs import NEEDS

from aotensor.core.types import Array
from aotensor.ir.build import Program
from aotensor.ir.types import element_type

MLIR_OPT: Final = NEEDS["mlir-opt"].path
MLIR_RUNNER: Final = NEEDS["mlir-runner"].path

LOWERING: Final = (
    "--convert-vector-to-scf", "--convert-scf-to-cf", "--convert-vector-to-llvm", "--arith-expand",
    "--convert-math-to-llvm", "--convert-math-to-libm", "--convert-arith-to-llvm", "--finalize-memref-to-llvm",
    "--convert-cf-to-llvm", "--convert-func-to-llvm", "--reconcile-unrealized-casts",
)  # fmt: skip
TOLERANCES: Final = {"f32": (1e-5, 1e-6), "f64": (1e-11, 1e-13)}  # relative, absolute: reductions in another order


def rejected(text: str) -> str:
    """What mlir-opt has to say against a module; "" if it accepts it."""
    assert MLIR_OPT is not None
    return subprocess.run([MLIR_OPT], input=text, capture_output=True, text=True, check=False).stderr


def printed(text: str) -> str:
    """A module as mlir-opt prints it."""
    assert MLIR_OPT is not None
    return _run([MLIR_OPT], text)


def count_mismatches(text: str, program: Program, inputs: Sequence[Array], expected: Sequence[Array]) -> int:
    """Elements of the outputs of a kernel, run by MLIR's own lowering and JIT, that differ from `expected`."""
    assert MLIR_OPT is not None and MLIR_RUNNER is not None
    whole = _without_blas(text)
    body = whole.rstrip().removesuffix("}") + _driver(program, inputs, expected) + "}\n"
    lowered = _run([MLIR_OPT, *LOWERING], body)
    return int(_run([MLIR_RUNNER, "-e", "main", "--entry-point-result=i32", "-O1"], lowered))


def _run(command: Sequence[str], text: str) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return done.stdout


# --- a main function around a kernel --------------------------------------------------------------------------------


def _driver(program: Program, inputs: Sequence[Array], expected: Sequence[Array]) -> str:
    """Globals with the data, a function per output that counts differences, and `@main`."""
    lines: list[str] = []
    calls = ["func.func @main() -> i32 {"]
    arguments: list[str] = []
    types: list[str] = []
    variables = [x for _, x in program.inputs]
    for number, (array, x) in enumerate(zip(inputs, variables, strict=True)):
        static, wanted = _type(array.shape, x.dtype), _type(x.static_shape, x.dtype)
        lines.append(f'memref.global "private" constant @in{number} : {static} = {_dense(array)}')
        calls.append(f"%in{number} = memref.get_global @in{number} : {static}")
        arguments.append(_cast(calls, f"%in{number}", static, wanted))
        types.append(wanted)
    for number, (array, (_, x)) in enumerate(zip(expected, program.outputs, strict=True)):
        static, wanted = _type(array.shape, x.dtype), _type(x.static_shape, x.dtype)
        lines.append(f'memref.global "private" constant @out{number} : {static} = {_dense(array)}')
        calls.append(f"%out{number} = memref.alloc() : {static}")
        arguments.append(_cast(calls, f"%out{number}", static, wanted))
        types.append(wanted)
    calls += _call(program, inputs, arguments, types)
    total = "%zero"
    for number, array in enumerate(expected):
        static = _type(array.shape, array.dtype.name)
        lines.append(_counter(number, array, static))
        calls += [
            f"%want{number} = memref.get_global @out{number} : {static}",
            f"%bad{number} = func.call @count{number}(%out{number}, %want{number}) : ({static}, {static}) -> i32",
            f"%total{number} = arith.addi {total}, %bad{number} : i32",
        ]
        total = f"%total{number}"
    calls += [f"%all = arith.addi {total}, %status : i32", "func.return %all : i32", "}"]
    return "\n".join([*lines, *calls]) + "\n"


def _call(program: Program, inputs: Sequence[Array], arguments: list[str], types: list[str]) -> list[str]:
    """The workspace of the size that the module asks for, and the kernel's call."""
    extents: dict[str, int] = {}
    for array, (name, x) in zip(inputs, program.inputs, strict=True):
        for axis, (dim, extent) in enumerate(zip(x.tensor_type.shape, array.shape, strict=True)):
            if not isinstance(dim, int):
                extents.setdefault(dim or f"{name}_{axis}", extent)
    lines = [f"%dim{k} = arith.constant {n} : index" for k, n in enumerate(extents.values())]
    dims, kinds = ", ".join(f"%dim{k}" for k in range(len(extents))), ", ".join("index" for _ in extents)
    arguments += ["%workspace", "%detail", "%context"]
    types += ["memref<?xi8>", "memref<4xi64>", "memref<1xi8>"]
    return [
        *lines,
        f"%bytes = func.call @{program.name}.workspace_bytes({dims}) : ({kinds}) -> i64",
        "%size = arith.index_cast %bytes : i64 to index",
        "%workspace = memref.alloc(%size) {alignment = 64 : i64} : memref<?xi8>",
        "%detail = memref.alloc() : memref<4xi64>",
        "%context = memref.alloc() : memref<1xi8>",
        "%zero = arith.constant 0 : i32",
        f"%status = func.call @{program.name}.kernel({', '.join(arguments)}) : ({', '.join(types)}) -> i32",
    ]


def _counter(number: int, array: Array, static: str) -> str:
    """A function that counts the elements of two buffers that differ by more than the tolerance (nan equals nan)."""
    kind = str(element_type(array.dtype.name))
    counters = [f"%i{axis}" for axis in range(array.ndim)]
    where = ", ".join(counters)
    before = ["%none", *(f"%a{axis}" for axis in range(array.ndim))]
    after = [*(f"%c{axis}" for axis in range(array.ndim)), "%count"]
    loops = "".join(
        f"%n{axis} = arith.constant {n} : index\n"
        f"%c{axis} = scf.for {counters[axis]} = %low to %n{axis} step %step"
        f" iter_args(%a{axis} = {before[axis]}) -> (i32) {{\n"
        for axis, n in enumerate(array.shape)
    )
    ends = "".join(f"scf.yield {after[axis + 1]} : i32\n}}\n" for axis in reversed(range(array.ndim)))
    return f"""
func.func private @count{number}(%x: {static}, %y: {static}) -> i32 {{
  %low = arith.constant 0 : index
  %step = arith.constant 1 : index
  %none = arith.constant 0 : i32
  {loops}
  %p = memref.load %x[{where}] : {static}
  %q = memref.load %y[{where}] : {static}
  {_comparison(kind)}
  %more = arith.extui %differs : i1 to i32
  %count = arith.addi {before[-1]}, %more : i32
  {ends}
  func.return {after[0]} : i32
}}"""


def _comparison(kind: str) -> str:
    if kind not in TOLERANCES:
        return f"%differs = arith.cmpi ne, %p, %q : {kind}"
    relative, absolute = TOLERANCES[kind]
    return f"""
  %rtol = arith.constant {relative:.17e} : {kind}
  %atol = arith.constant {absolute:.17e} : {kind}
  %gap = arith.subf %p, %q : {kind}
  %far = math.absf %gap : {kind}
  %size = math.absf %q : {kind}
  %scaled = arith.mulf %size, %rtol : {kind}
  %bound = arith.addf %scaled, %atol : {kind}
  %apart = arith.cmpf ugt, %far, %bound : {kind}
  %unlike = arith.cmpf une, %p, %q : {kind}
  %nan_p = arith.cmpf uno, %p, %p : {kind}
  %nan_q = arith.cmpf uno, %q, %q : {kind}
  %both = arith.andi %nan_p, %nan_q : i1
  %true = arith.constant true
  %some = arith.xori %both, %true : i1
  %off = arith.andi %apart, %unlike : i1
  %differs = arith.andi %off, %some : i1"""


def _type(shape: Sequence[int | None], dtype: str) -> str:
    dims = "".join("?x" if n is None else f"{n}x" for n in shape)
    return f"memref<{dims}{element_type(dtype)}>"


def _dense(array: Array) -> str:
    if array.size == 0:
        return "dense<>"
    if array.dtype == np.bool_:  # the bytes of i1 would be packed bits
        return f"dense<{str(array.tolist()).lower()}>"
    return f'dense<"0x{array.tobytes().hex().upper()}">'


def _cast(lines: list[str], name: str, have: str, wanted: str) -> str:
    if have == wanted:
        return name
    lines.append(f"{name}.cast = memref.cast {name} : {have} to {wanted}")
    return f"{name}.cast"


def _without_blas(text: str) -> str:
    """The module with a body for the function that tries BLAS: there is none here."""
    declaration = r"(func\.func private @aot_blas_gemm\.f\d\d\()(i1, i1, .*)(\) -> i1)\n"

    def body(match: re.Match[str]) -> str:
        kinds = match.group(2).split(", ")
        arguments = ", ".join(f"%a{k}: {kind}" for k, kind in enumerate(kinds))
        return f"{match.group(1)}{arguments}{match.group(3)} {{\n%no = arith.constant false\nfunc.return %no : i1\n}}\n"

    return re.sub(declaration, body, text)
