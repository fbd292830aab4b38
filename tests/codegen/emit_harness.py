"""Loop IR as text in, functions on NumPy arrays out: what the tests of the emitter share."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes  # noqa: F401  (np.dtype("bfloat16"))
import numpy as np
from loaded import address_of, loaded
from needs import NEEDS
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math, memref, scf, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, Float32Type, Float64Type, IndexType, MemRefType, ModuleOp
from xdsl.ir import Attribute
from xdsl.parser import Parser

from aotensor.codegen.emit import emit_module
from aotensor.codegen.machine import Machine
from aotensor.ir.upstream import GatherOp, ReallocOp

MLIR_OPT = NEEDS["mlir-opt"].path
DIALECTS = (builtin.Builtin, func.Func, scf.Scf, arith.Arith, math.Math, memref.MemRef, vector.Vector)
MLIR_TYPES = {"float32": "f32", "float64": "f64", "bool": "i1"} | {
    f"{sign}int{bits}": f"i{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


PARSED: dict[str, str] = {}
"""Texts that were parsed → the test that did; upstream is asked about them all when a file of tests is done."""
SPLIT = "// -----"


def parse(text: str) -> ModuleOp:
    """A verified module; upstream is to accept the text too, where it is installed."""
    context = Context()
    for dialect in DIALECTS:
        context.load_dialect(dialect)
    context.load_op(GatherOp)
    context.load_op(ReallocOp)
    module = Parser(context, text).parse_module()
    module.verify()
    PARSED[text] = os.environ.get("PYTEST_CURRENT_TEST", "")
    return module


def rejected(texts: Sequence[str]) -> str:
    """What upstream has to say against some modules, "" if it accepts them all."""
    assert MLIR_OPT is not None
    whole = f"\n{SPLIT}\n".join(texts)
    done = subprocess.run(
        [MLIR_OPT, f"--split-input-file={SPLIT}"], input=whole, capture_output=True, text=True, check=False
    )
    return done.stderr if done.returncode else ""


def symbols(module: ModuleOp) -> list[str]:
    return [op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp)]


def emitted(text: str, machine: Machine | None = None) -> str:
    """LLVM IR before any optimisation."""
    module = parse(text)
    return str(emit_module(module, machine or Machine.host(), exported=symbols(module)))


def optimised(text: str, machine: Machine | None = None) -> str:
    """LLVM IR after the optimiser."""
    target = machine or Machine.host()
    return str(target.optimise(emitted(text, target)))


class Compiled:
    """The functions of a module, in this process. `compiled.f(x, 2.0)` takes arrays for memrefs and numbers."""

    def __init__(self, source: str | ModuleOp, opt_level: int = 3, machine: Machine | None = None) -> None:
        module = parse(source) if isinstance(source, str) else source
        machine = machine or Machine.host(opt_level)
        optimised_module = machine.optimise(emit_module(module, machine, exported=symbols(module)))
        self._library = loaded(optimised_module, machine, symbols(module))
        self._types = {op.sym_name.data: op.function_type for op in module.ops if isinstance(op, func.FuncOp)}

    def __getattr__(self, name: str) -> Any:
        signature = self._types[name]
        outputs = [_c_type(kind) for kind in signature.outputs]
        inputs: list[type] = []
        for kind in signature.inputs:
            inputs += [ctypes.c_void_p, *_sizes_of(kind)] if isinstance(kind, MemRefType) else [_c_type(kind)]
        call = ctypes.CFUNCTYPE(outputs[0] if outputs else None, *inputs)(address_of(self._library, name))

        def run(*arguments: Any) -> Any:
            flat: list[Any] = []
            for kind, value in zip(signature.inputs, arguments, strict=True):
                flat += _flatten(kind, value)
            return call(*flat)

        run.keeps_alive = self  # type: ignore[attr-defined]
        return run


def _sizes_of(kind: MemRefType[Any]) -> list[type]:
    return [ctypes.c_int64] * sum(n == DYNAMIC_INDEX for n in kind.get_shape())


def _flatten(kind: Attribute, value: Any) -> list[Any]:
    if not isinstance(kind, MemRefType):
        return [value]
    assert isinstance(value, np.ndarray) and value.flags.c_contiguous and value.ndim == kind.get_num_dims()
    assert all(n in (DYNAMIC_INDEX, m) for n, m in zip(kind.get_shape(), value.shape, strict=True))
    pointer = value.ctypes.data if value.size else None
    return [pointer, *(m for n, m in zip(kind.get_shape(), value.shape, strict=True) if n == DYNAMIC_INDEX)]


def _c_type(kind: Attribute) -> type:
    table: Mapping[type, type] = {Float32Type: ctypes.c_float, Float64Type: ctypes.c_double, IndexType: ctypes.c_int64}
    if type(kind) in table:
        return table[type(kind)]
    assert isinstance(kind, builtin.IntegerType)
    return {1: ctypes.c_bool, 8: ctypes.c_int8, 16: ctypes.c_int16, 32: ctypes.c_int32, 64: ctypes.c_int64}[
        kind.width.data
    ]


def elementwise(body: str, inputs: list[str], output: str) -> str:
    """A module with `f(x0, x1, ..., out)`: for every i the body computes %r from %a0, %a1, ...; types are MLIR's."""
    names = [f"%x{k}: memref<?x{kind}>" for k, kind in enumerate(inputs)]
    loads = "\n".join(f"    %a{k} = memref.load %x{k}[%i] : memref<?x{kind}>" for k, kind in enumerate(inputs))
    return f"""
func.func @f({", ".join([*names, f"%out: memref<?x{output}>"])}) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = memref.dim %out, %zero : memref<?x{output}>
  scf.for %i = %zero to %n step %one {{
{loads}
    {body}
    memref.store %r, %out[%i] : memref<?x{output}>
  }}
  func.return
}}
"""


def apply(body: str, inputs: list[np.ndarray], output: str) -> np.ndarray:
    """Run an elementwise body on arrays of one length; the result has NumPy dtype `output`."""
    kinds = [MLIR_TYPES[x.dtype.name] for x in inputs]
    result = np.zeros(len(inputs[0]), output)
    Compiled(elementwise(body, kinds, MLIR_TYPES[output])).f(*inputs, result)
    return result
