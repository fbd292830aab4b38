"""Check C source: compiled by the system's compiler, it must give the bits of the library under `fp="strict"`."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from aotensor.codegen.entry.names import Symbols
from aotensor.codegen.targets.room import check_room
from aotensor.core.types import Array
from aotensor.driver.build import Build
from aotensor.driver.definition import Definition
from aotensor.errors import UnsupportedError
from aotensor.graph.sparse_type import is_matrix
from aotensor.sampling.samples import Sampler
from aotensor.verification.report import CheckFailed, CheckSkipped
from aotensor.verification.typed_call import call_typed, dims_of
from aotensor_runtime import Library
from aotensor_runtime.call import LibraryFunction
from aotensor_runtime.errors import AotensorError
from aotensor_runtime.manifest import FunctionSpec
from aotensor_runtime.systems.scratch import scratch_folder
from aotensor_runtime.vectors import call_with_state

C_FLAGS: Final = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-ffp-contract=off")


def check_c_source(f: Definition, build: Build, samples: int, seed: int) -> str:
    """Compile C source of f, and compare it with the strict library on samples.

    Raises: CheckFailed; CheckSkipped without a compiler, and for a function that C source does not have
    """
    compiler = shutil.which("cc") or shutil.which("clang")
    if compiler is None:
        raise CheckSkipped("no C compiler was found")
    strict = Build([f], build.name, replace(build.options, fp="strict"))
    with scratch_folder() as folder:
        try:
            path = compile_c(strict, folder, compiler)
        except UnsupportedError as error:
            raise CheckSkipped(str(error).splitlines()[0]) from error
        c_library = ctypes.CDLL(str(path))
        return compare_c(f, Library(strict.shared), strict, c_library, samples, seed)


def compile_c(build: Build, folder: Path, compiler: str = "cc", flags: Sequence[str] = ("-O1",)) -> Path:
    """Compile the C source of a build to a shared library.

    Raises: CheckFailed with the compiler's first error, ToolError if it cannot write
    """
    source, header, target = (folder / f"{build.name}{end}" for end in (".c", ".h", ".c.so"))
    source.write_bytes(build.content("c"))
    header.write_bytes(build.content("header"))
    command = [compiler, *C_FLAGS, *flags, "-fPIC", "-shared", "-o", str(target), str(source), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    check_room(f"the compiler {Path(compiler).name}", done, folder.parent)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or [done.stderr.strip()[:200]]
        raise CheckFailed(f"{Path(compiler).name}: {lines[0].rpartition('/')[2]}")
    return target


def compare_c(f: Definition, library: Library, build: Build, c_library: Any, samples: int, seed: int) -> str:
    """Compare a compiled C source with the library on samples.   Raises: CheckFailed for other bits"""
    entry = CEntry.from_build(build, f.name, c_library)
    agreed = refused = 0
    for number, sample in enumerate(Sampler(f, seed).samples(samples)):
        try:
            is_done = entry.compare(library.functions[f.name], list(sample.arrays.values()))
        except CheckFailed as error:
            raise CheckFailed(f"sample {number} ({sample.note}): {error}") from error
        agreed, refused = agreed + is_done, refused + (not is_done)
    return f"{agreed} samples to the last bit" + (f", {refused} refused" if refused else "")


@dataclass(frozen=True)
class CEntry:
    """The typed entry of one function in a compiled C source."""

    spec: FunctionSpec
    address: int

    @staticmethod
    def from_build(build: Build, function: str, c_library: Any) -> CEntry:
        """The entry of a function in the shared library compiled from a build's C source."""
        manifest = build.library.manifest
        spec = next(x for x in manifest.functions if x.name == function)
        address = ctypes.cast(getattr(c_library, Symbols.in_library(manifest, function).typed), ctypes.c_void_p).value
        assert address is not None
        return CEntry(spec, address)

    def compare(self, function: LibraryFunction, values: Sequence[Any]) -> bool:
        """Do both computations return values, which must be bitwise equal? If not, both must refuse.   Raises:
        CheckFailed
        """
        given = [_canonical(x) for x in values]
        expected: list[Any] = []
        try:
            expected = list(call_with_state(function, given, is_dense=False))
            is_refused = False
        except _REFUSALS:
            is_refused = True
        if is_refused:
            dims = dims_of(self.spec, given)
            shapes = [[dims.get(n, -1) if isinstance(n, str) else n for n in x.shape] for x in self.spec.produced]
            if any(n is None or n < 0 for shape in shapes for n in shape):
                return False  # the extents of its memory are not known
            expected = [np.empty(shape, x.dtype) for shape, x in zip(shapes, self.spec.produced, strict=True)]
        status, found = call_typed(self.spec, self.address, given, expected)
        if (status != 0) != is_refused:
            raise CheckFailed(f"only {'C' if status else 'the library'} refuses, status {status}")
        if is_refused:
            return False
        for value, x, y in zip(self.spec.produced, found, expected, strict=True):
            if problem := _difference(x, y):
                raise CheckFailed(f"{value.name}: {problem}")
        return True


_REFUSALS: Final = (
    AotensorError, ArithmeticError, np.linalg.LinAlgError, IndexError, ValueError, TypeError,
)  # fmt: skip


def _canonical(x: Any) -> Any:
    """Contiguous copies of arrays; matrices with sorted indices and without duplicates."""
    if is_matrix(x):
        copy = x.copy()
        copy.sum_duplicates()
        copy.sort_indices()
        return copy
    return np.array(x, order="C")


def _difference(found: Any, expected: Any) -> str:
    if isinstance(found, tuple):
        *arrays, shape = found
        if tuple(shape) != tuple(expected.shape):
            return f"shape {shape} instead of {expected.shape}"
        pairs = zip(arrays, (expected.data, expected.indices, expected.indptr), strict=True)
        return next((text for x, y in pairs if (text := _difference_text(x, np.asarray(y)))), "")
    return _difference_text(np.asarray(found), np.asarray(expected))


def _difference_text(found: Array, expected: Array) -> str:
    """How two results differ: shapes, dtypes or bits; empty if equal. Any nan equals any other nan."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{found.dtype}{list(found.shape)} instead of {expected.dtype}{list(expected.shape)}"
    x, y = np.ascontiguousarray(found), np.ascontiguousarray(expected)
    if x.dtype.kind == "c":
        return _difference_text(x.view(x.real.dtype), y.view(y.real.dtype))
    same = x.view(f"u{x.itemsize}") == y.view(f"u{y.itemsize}") if x.dtype.kind == "f" else x == y
    if x.dtype.kind == "f":
        same = same | (np.isnan(x) & np.isnan(y))
    if bool(np.all(same)):
        return ""
    at = tuple(int(k) for k in np.argwhere(~same)[0]) if x.ndim else ()
    return f"{int(np.sum(~same))} of {x.size} elements differ, the first at {list(at)}: {x[at]!r} instead of {y[at]!r}"
