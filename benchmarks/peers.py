"""How each contender is set up and called: inputs where it wants them, results complete when the call returns."""

from __future__ import annotations

import ctypes
import importlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import numpy as np
import scipy.sparse
from contenders import Array, Comparison, Contender, Model, arrays_of
from native import compile_c, prepared_call


def comparison(model: Model, kernels: ctypes.CDLL | None) -> Comparison:
    """All contenders of a model that are installed, compiled and ready to be called."""
    c = Comparison(model, arrays_of(model.reference()))
    add_aotensor(c, model)
    hand_written = model.c(kernels) if kernels is not None else None
    if hand_written is not None:
        call, results = hand_written
        c.add("C", call, lambda _: results)
    if kernels is not None and model.moved is not None:
        c.contenders["memory"] = stream(kernels, model.moved)
    for name in model.peers:
        module, add = PEERS[name]
        try:
            found = importlib.import_module(module)
        except ImportError as error:
            c.missing[name] = str(error)
        else:
            start = perf_counter()
            add(c, found, model)
            if name == "CasADi" and name in c.contenders:
                c.seconds[name] = perf_counter() - start
    by_numpy = model.numpy()
    if by_numpy is not None:
        c.add(model.plain, by_numpy, list)
    return c


def add_aotensor(c: Comparison, model: Model) -> None:
    """The compiled library, called with arrays (new outputs each time) and bound (the same outputs each time)."""
    compiled = compile_aotensor(model)
    arguments = tuple(model.values.values())
    c.add("aotensor", lambda: compiled(*arguments), lambda result: list(result.values()))
    bound = compiled.bind(**model.values)
    c.add("aotensor, bound", bound, lambda result: list(result.values()))


def compile_aotensor(model: Model) -> Any:
    """From nothing to a loaded library: graph, gradient, code, link."""
    aot = importlib.import_module("aotensor")
    importlib.import_module("aotensor.tensor")
    f = model.aotensor(aot)
    return getattr(aot.compile(f, tempfile.mkdtemp()).load(), f.name)


def add_jax(c: Comparison, jax: Any, model: Model) -> None:
    compiled = compile_jax(jax, model)
    arguments = [jax_value(jax, x) for x in model.values.values()]
    c.add("JAX", lambda: jax.block_until_ready(compiled(*arguments)), lambda result: list(result))


def compile_jax(jax: Any, model: Model) -> Any:
    """From nothing to an executable for these shapes: trace, gradient, code."""
    jax.config.update("jax_enable_x64", True)
    arguments = [
        jax_value(jax, x) if scipy.sparse.issparse(x) else jax.ShapeDtypeStruct(x.shape, x.dtype)
        for x in model.values.values()
    ]
    return jax.jit(model.jax(jax)).lower(*arguments).compile()


def jax_value(jax: Any, value: Any) -> Any:
    """An array, or a matrix in coordinate form (BCOO), which is said to be in order and without duplicates."""
    if scipy.sparse.issparse(value):
        matrix = importlib.import_module("jax.experimental.sparse").BCOO.from_scipy_sparse(value)
        matrix.indices_sorted = matrix.unique_indices = True
        return matrix
    return jax.numpy.asarray(value)


def add_pytensor(c: Comparison, pt: Any, model: Model) -> None:
    compiled = compile_pytensor(pt, model)
    values = list(model.values.values())
    c.add("PyTensor", lambda: compiled(*values), lambda result: list(result))


def compile_pytensor(pt: Any, model: Model) -> Any:
    """From nothing to a function that has run once: Numba compiles at the first call."""
    importlib.import_module("pytensor.tensor")
    importlib.import_module("pytensor.sparse")
    inputs, outputs = model.pytensor(pt)
    compiled = pt.function(inputs, outputs, mode=model.pytensor_mode, trust_input=True)
    compiled(*model.values.values())
    return compiled


def add_casadi(c: Comparison, ca: Any, model: Model) -> None:
    """The C code that CasADi generates, compiled by gcc and called as the hand-written kernels are."""
    f = model.casadi(ca)
    if f is None:
        return
    call, results = _prepared_casadi(compile_casadi(ca, f), f, list(model.values.values()))
    shapes = [f.size_out(number) for number in range(f.n_out())]
    c.add("CasADi", call, lambda _: [x.reshape(n, order="F") for x, n in zip(results, shapes, strict=True)])


def compile_casadi(ca: Any, f: Any) -> Callable[..., int]:
    """Generated C as a function in a library of its own."""
    home, folder = os.getcwd(), tempfile.mkdtemp()
    os.chdir(folder)  # CasADi writes into the working directory only
    try:
        f.generate("model.c")
    finally:
        os.chdir(home)
    function: Callable[..., int] = ctypes.CDLL(str(compile_c(Path(folder, "model.c"))))[f.name()]
    return function


def _prepared_casadi(function: Callable[..., int], f: Any, inputs: list[Array]) -> tuple[Contender, list[Array]]:
    """A call on fixed buffers, and the results; matrices go in and come out column by column."""
    columns = [np.asfortranarray(x) for x in inputs]
    results = [np.empty(f.nnz_out(number)) for number in range(f.n_out())]
    work = np.empty(max(f.sz_w(), 1)), np.empty(max(f.sz_iw(), 1), dtype="int64")
    pointers = [
        np.array([x.ctypes.data for x in arrays] + [0] * (size - len(arrays)), dtype="uint64")
        for arrays, size in ((columns, f.sz_arg()), (results, f.sz_res()))
    ]
    call = prepared_call(function, *pointers, work[1], work[0], 0)
    keep = columns
    return (lambda: call() if keep else None), results


def add_mkl(c: Comparison, sparse_dot_mkl: Any, model: Model) -> None:
    call = model.mkl(sparse_dot_mkl.dot_product_mkl)
    if call is not None:
        c.add("MKL", call, list)


def stream(kernels: ctypes.CDLL, moved: int) -> Contender:
    """The sum of so many bytes: how long they take through the processor."""
    return prepared_call(kernels.stream, moved // 8, np.ones(moved // 8), np.empty(()))


PEERS: Final[dict[str, tuple[str, Callable[[Comparison, Any, Model], None]]]] = {
    "JAX": ("jax", add_jax),
    "PyTensor": ("pytensor", add_pytensor),
    "CasADi": ("casadi", add_casadi),
    "MKL": ("sparse_dot_mkl", add_mkl),
}
