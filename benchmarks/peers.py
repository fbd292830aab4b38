"""Set up each contender: inputs in its own form, and calls that return complete results."""

from __future__ import annotations

import ctypes
import importlib
import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import numpy as np
import scipy.sparse
from contenders import UNWRITTEN, Absent, Array, Comparison, Contender, Model, arrays_of
from native import compile_c, prepared_call

from aotensor_runtime import CheckedPattern


def comparison(model: Model, kernels: ctypes.CDLL | None, without: frozenset[str] = frozenset()) -> Comparison:
    """All contenders of a model that are installed and wanted, compiled and ready to be called."""
    c = Comparison(model, arrays_of(model.reference()))
    add_aotensor(c, model)
    if kernels is None or "C" in without:
        c.missing["C"] = "gcc is not installed" if kernels is None else "it was not asked for"
    elif (hand_written := model.c(kernels)) is not None:
        call, results = hand_written
        c.add("C", call, lambda _: results)
    for name in model.peers:
        module, add = PEERS[name]
        start = perf_counter()
        try:
            if name in model.without or name in without:
                raise Absent(model.without.get(name, "it was not asked for"))
            add(c, _imported(module), model)
        except Absent as reason:
            c.missing[name] = str(reason)
        c.seconds[name] = perf_counter() - start
    by_numpy = model.numpy()
    if by_numpy is not None:
        c.add(model.plain, by_numpy, list)
    return c


def _imported(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Absent(f"not installed: {error}") from error


def add_aotensor(c: Comparison, model: Model) -> None:
    """The compiled library, called with arrays (new outputs each time) and bound (the same outputs each time); with
    sparse matrices also called with patterns that were checked before (new outputs each time).
    """
    c.compiled = compiled = compile_aotensor(model)
    arguments = tuple(model.values.values())
    c.add("aotensor", lambda: compiled(*arguments), lambda result: list(result.values()))
    if any(map(scipy.sparse.issparse, arguments)):
        checked = tuple(CheckedPattern(x) if scipy.sparse.issparse(x) else x for x in arguments)
        c.add("aotensor, checked", lambda: compiled(*checked), lambda result: list(result.values()))
    c.bound = bound = compiled.bind(**model.values)
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


def add_torch(c: Comparison, torch: Any, model: Model) -> None:
    program, arguments = _torch_program(torch, model)
    c.add("torch", lambda: program(*arguments), _from_torch)


def add_torch_compiled(c: Comparison, torch: Any, model: Model) -> None:
    """Add PyTorch compiled by Inductor for these shapes, with gradients, without graph breaks."""
    program, arguments = _torch_program(torch, model)
    compiled = torch.compile(program, fullgraph=True, dynamic=False)
    logging.getLogger("torch").setLevel(logging.CRITICAL)  # of its tracebacks the last line is enough
    try:
        compiled(*arguments)
    except Exception as error:
        raise Absent(
            f"cannot be compiled: {type(error).__name__}: {str(error).strip().splitlines()[0]:.120}"
        ) from error
    c.add("torch compiled", lambda: compiled(*arguments), _from_torch)


def _torch_program(torch: Any, model: Model) -> tuple[Callable[..., Any], list[Any]]:
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.set_default_dtype(torch.float64)
    program = model.torch(torch)
    if program is None:
        raise Absent(UNWRITTEN)
    return program, [_torch_value(torch, x) for x in model.values.values()]


def _torch_value(torch: Any, value: Any) -> Any:
    if scipy.sparse.issparse(value):
        parts = (value.indptr, value.indices, value.data)
        return torch.sparse_csr_tensor(*map(torch.from_numpy, parts), value.shape, check_invariants=False)
    return torch.from_numpy(np.asarray(value))


def _from_torch(outputs: Any) -> list[Any]:
    def plain(x: Any) -> Any:
        if "sparse" not in str(x.layout):
            return x.detach().numpy()
        parts = (x.values(), x.col_indices(), x.crow_indices())
        return scipy.sparse.csr_matrix(tuple(part.detach().numpy() for part in parts), tuple(x.shape))

    return [plain(x) for x in outputs]


def _add_pytensor(backend: str, mode: str) -> Callable[[Comparison, Any, Model], None]:
    name = f"PyTensor {backend}"

    def add(c: Comparison, pt: Any, model: Model) -> None:
        if backend == "C" and not pt.config.cxx:
            raise Absent("it finds no C++ compiler")
        compiled = compile_pytensor(pt, model, mode)
        values = list(model.values.values())
        c.add(name, lambda: compiled(*values), lambda result: list(result))

    return add


def compile_pytensor(pt: Any, model: Model, mode: str) -> Any:
    """From nothing to a function that has run once: Numba compiles at the first call."""
    importlib.import_module("pytensor.tensor")
    importlib.import_module("pytensor.sparse")
    inputs, outputs = model.pytensor(pt)
    compiled = pt.function(inputs, outputs, mode=mode, trust_input=True)
    compiled(*model.values.values())
    return compiled


def add_casadi(c: Comparison, ca: Any, model: Model) -> None:
    """The C code that CasADi generates, compiled by gcc and called as the hand-written kernels are."""
    f = model.casadi(ca)
    if f is None:
        raise Absent("the model is not written for it: long loops, factorisations and big matrices are not its kind")
    function, sizes = compile_casadi(ca, f, model.samples)
    inputs = [np.ascontiguousarray(x) if model.samples else np.asfortranarray(x) for x in model.values.values()]
    shapes = [(model.samples, f.nnz_out(i)) if model.samples else f.size_out(i) for i in range(f.n_out())]
    results = [np.empty(int(np.prod(shape))) for shape in shapes]
    call = _prepared_casadi(function, inputs, results, *sizes)
    order: Any = "C" if model.samples else "F"
    c.add("CasADi", call, lambda _: [x.reshape(n, order=order) for x, n in zip(results, shapes, strict=True)])


def compile_casadi(ca: Any, f: Any, samples: int) -> tuple[Callable[..., int], tuple[int, int, int, int]]:
    """Generated C as a function in a library of its own, and the sizes of its arrays: arguments, results, work.

    Mapped over samples it is called in a loop of OpenMP, as CasADi generates one if it is built for that.
    """
    home, folder = os.getcwd(), tempfile.mkdtemp()
    os.chdir(folder)  # CasADi writes into the working directory only
    try:
        f.generate("model.c")
    finally:
        os.chdir(home)
    sizes = f.sz_arg(), f.sz_res(), max(f.sz_iw(), 1), max(f.sz_w(), 1)
    if not samples:
        return ctypes.CDLL(str(compile_c(Path(folder, "model.c"))))[f.name()], sizes
    parts = [f"from[{i}] = arg[{i}] + k * {f.nnz_in(i)};" for i in range(f.n_in())]
    parts += [f"to[{i}] = res[{i}] + k * {f.nnz_out(i)};" for i in range(f.n_out())]
    Path(folder, "mapped.c").write_text(
        MAPPED.format(
            name=f.name(), samples=samples, parts=" ".join(parts), arg=sizes[0], res=sizes[1], iw=sizes[2], w=sizes[3]
        )
    )
    return ctypes.CDLL(str(compile_c(Path(folder, "mapped.c")))).mapped, sizes


MAPPED: Final = """#include "model.c"
int mapped(const double **arg, double **res, long long int *iw, double *w, int mem) {{
#pragma omp parallel for
  for (long long int k = 0; k < {samples}; ++k) {{
    const double *from[{arg}];
    double *to[{res}], own[{w}];
    long long int integers[{iw}];
    {parts}
    {name}(from, to, integers, own, 0);
  }}
  return 0;
}}
"""


def _prepared_casadi(
    function: Callable[..., int], inputs: list[Array], results: list[Array], arg: int, res: int, iw: int, w: int
) -> Contender:
    """A call on fixed buffers; matrices go in and come out column by column."""
    pointers = [
        np.array([x.ctypes.data for x in arrays] + [0] * (size - len(arrays)), dtype="uint64")
        for arrays, size in ((inputs, arg), (results, res))
    ]
    call = prepared_call(function, *pointers, np.empty(iw, dtype="int64"), np.empty(w), 0)
    return lambda: call() if inputs else None


def add_onnxruntime(c: Comparison, onnxruntime: Any, model: Model) -> None:
    """onnxruntime with its default optimisations, called on bound buffers."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = len(os.sched_getaffinity(0)), 1
    serialized = model.onnx(_imported("onnx"))
    session = onnxruntime.InferenceSession(serialized, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, x in model.values.items():
        binding.bind_cpu_input(name, np.ascontiguousarray(x))
    for item in session.get_outputs():
        binding.bind_output(item.name)
    session.run_with_iobinding(binding)  # makes the buffers into which later calls write
    c.add("onnxruntime", lambda: session.run_with_iobinding(binding), lambda _: binding.copy_outputs_to_cpu())


def add_mkl(c: Comparison, sparse_dot_mkl: Any, model: Model) -> None:
    call = model.mkl(sparse_dot_mkl.dot_product_mkl)
    if call is None:
        raise Absent("it has no such product")
    c.add("MKL", call, list)


PEERS: Final[dict[str, tuple[str, Callable[[Comparison, Any, Model], None]]]] = {
    "JAX": ("jax", add_jax),
    "torch": ("torch", add_torch),
    "torch compiled": ("torch", add_torch_compiled),
    "PyTensor Numba": ("pytensor", _add_pytensor("Numba", "NUMBA")),
    "PyTensor C": ("pytensor", _add_pytensor("C", "CVM")),
    "CasADi": ("casadi", add_casadi),
    "MKL": ("sparse_dot_mkl", add_mkl),
    "onnxruntime": ("onnxruntime", add_onnxruntime),
}
