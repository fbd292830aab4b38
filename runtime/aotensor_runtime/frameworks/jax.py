"""A function of a library as an operator of JAX: a foreign function of XLA, with the library's gradient.

from aotensor_runtime.frameworks.jax import operator
logistic = operator(lib.logistic)
jax.jit(jax.grad(logistic, argnums=2))(X, y, w)   # the library's grad_w; no step through Python

XLA calls a C handler, which a C compiler builds from 100 lines and JAX's headers at the first operator.
"""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from aotensor_runtime.abi import HEADER
from aotensor_runtime.call import LibraryFunction
from aotensor_runtime.errors import ArgumentTypeError, LibraryError
from aotensor_runtime.frameworks.derivative import Differentiable, differentiable
from aotensor_runtime.systems.scratch import scratch_folder

_TARGET: Final = "aotensor_call"
_KEPT: Final[dict[int, LibraryFunction]] = {}
"""Key → the function that XLA calls by it; entries stay, since compiled executables refer to them."""


def operator(
    function: LibraryFunction, value: str | None = None, gradients: Mapping[str, str] | None = None
) -> Callable[..., jax.Array]:
    """The value of a function as a differentiable function of JAX, on the CPU; for `jit`, `grad` and `vmap`.

    value, gradients: the output with the value, and input → output with its gradient; by default every
    `grad_<input>`, and the one remaining output. `vmap` is a loop of calls.

    Raises: as `differentiable`; LibraryError without a C compiler. The operator: ArgumentTypeError for another dtype,
    ArgumentValueError for extents that do not match, and ArgumentTypeError for a requested derivative that is
    missing; forward mode and second order are refused by JAX. An error of the library in a call is an error of
    JAX's runtime, with the library's message.
    """
    record = differentiable(function, value, gradients)
    run = _caller(function, record)

    def compute(*arguments: Any) -> Any:
        return run(arguments)[record.value]

    def forward(*arguments: Any) -> Any:
        for position, x in enumerate(arguments):
            if x.perturbed and position not in record.gradients:
                raise record.missing(position)
        outputs = run(tuple(x.value for x in arguments))
        zeros = [x.value for x in arguments]
        return outputs[record.value], ({p: outputs[k] for p, k in record.gradients.items()}, zeros)

    def pull(kept: Any, cotangent: Any) -> Any:
        slopes, arguments = kept
        is_zero = isinstance(cotangent, jax.custom_derivatives.SymbolicZero)
        return tuple(
            cotangent * slopes[p] if p in slopes and not is_zero else _zero(x) for p, x in enumerate(arguments)
        )

    call = jax.custom_vjp(compute)
    call.defvjp(forward, pull, symbolic_zeros=True)

    def named(*arguments: Any) -> Any:
        return call(*map(jnp.asarray, arguments))

    named.__name__ = named.__qualname__ = record.name
    named.__doc__ = function.__doc__
    return named


def _zero(x: Any) -> Any:
    """The cotangent of an input that has no influence, or is discrete."""
    is_real = jnp.issubdtype(x.dtype, jnp.inexact)
    return jnp.zeros_like(x) if is_real else np.zeros(x.shape, jax.dtypes.float0)


def _caller(function: LibraryFunction, record: Differentiable) -> Callable[[tuple[Any, ...]], Any]:
    """All outputs for all inputs, as XLA computes them."""
    address, context = function.uniform()
    text = f"{function.library.manifest.name} {hashlib.sha256(function.library.data).hexdigest()} {record.name}"
    key = int.from_bytes(hashlib.sha256(f"{text} {context.num_threads}".encode()).digest()[:7], "little")
    if key not in _KEPT:
        if not _handler().aotensor_jax_add(key, address, ctypes.addressof(context)):
            raise LibraryError(f"{record.name}: at most 1024 operators of JAX are supported, and all are in use")
        _KEPT[key] = function

    def run(arguments: tuple[Any, ...]) -> Any:
        shapes = record.shapes([x.shape for x in arguments])
        for x, wanted in zip(arguments, record.spec.inputs, strict=True):
            if x.dtype.name != wanted.dtype:
                raise ArgumentTypeError(
                    f"{record.name}: {wanted.name} is {wanted.dtype}, not {x.dtype.name}",
                    hint='jax.config.update("jax_enable_x64", True)' if wanted.dtype.endswith("64") else "cast it",
                )
        results = [
            jax.ShapeDtypeStruct(shape, jnp.dtype(x.dtype))
            for shape, x in zip(shapes, record.spec.outputs, strict=True)
        ]
        return jax.ffi.ffi_call(_TARGET, results, vmap_method="sequential")(*arguments, key=np.int64(key))

    return run


@cache
def _handler() -> ctypes.CDLL:
    """Compile, load and register the C handler.

    Raises: LibraryError without a C compiler, on Windows, or if it fails.
    """
    if sys.platform == "win32":
        raise LibraryError("operators of JAX are supported on Linux and macOS only", hint="use jax.pure_callback")
    compiler = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    if compiler is None:
        raise LibraryError("operators of JAX need a C compiler", hint="install gcc or clang")
    with scratch_folder() as folder:
        made = folder / "jax_call.so"
        folders = [f"-I{HEADER.parent}", f"-I{jax.ffi.include_dir()}"]
        source = Path(__file__).with_name("jax_call.c")
        command = [compiler, "-std=gnu11", "-O2", "-shared", "-fPIC", *folders, str(source), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LibraryError(f"the handler for JAX cannot be compiled: {done.stderr.strip()[:500]}")
        found = ctypes.CDLL(str(made))
    found.aotensor_jax_add.argtypes = (ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    jax.ffi.register_ffi_target(_TARGET, jax.ffi.pycapsule(found.aotensor_jax_call), platform="cpu")
    return found
