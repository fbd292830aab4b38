"""Random arguments for the functions of `structure_functions`: valid matrices, and some with one or two faults."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
from tools.fuzz.oracle import Array, Matrix
from tools.fuzz.structure_functions import NAMES, elements, is_transposed, meaning

NULL_POINTER, WRONG_DTYPE, WRONG_EXTENT, NEGATIVE, WRONG_CONTEXT, BAD_STRUCTURE, BAD_INDEX = 1, 2, 4, 5, 10, 13, 14
CANONICAL: Final = 1
FLOAT64: Final = 11
_INDEX_CODES: Final = {"int32": 4, "int64": 5}
_SIZES: Final = (0, 1, 2, 3, 4, 5, 8, 9, 17)


@dataclass(frozen=True)
class Structure:
    """The fields of an aotensor_sparse.   An array may be None, which stands for NULL"""

    format: str
    nnz: int
    shape: tuple[int, int]
    dtype: int
    index_dtype: int
    data: Array | None
    indices: Array | None
    indptr: Array | None

    @property
    def major(self) -> int:
        return self.shape[0 if self.format == "csr" else 1]

    @property
    def minor(self) -> int:
        return self.shape[1 if self.format == "csr" else 0]

    def faults(self, n: int, p: int, index_dtype: str) -> set[int]:
        """The statuses that docs/abi.md documents for the faults of the struct, as a matrix of shape (n, p)."""
        found = set()
        if self.dtype != FLOAT64 or self.index_dtype != _INDEX_CODES[index_dtype]:
            found.add(WRONG_DTYPE)
        if self.shape != (n, p):
            found.add(WRONG_EXTENT)
        if min(self.shape) < 0:
            found.add(NEGATIVE)
        if self.nnz < 0:
            found |= {NEGATIVE, BAD_STRUCTURE}
        if self.indptr is None or (self.nnz > 0 and (self.data is None or self.indices is None)):
            found.add(NULL_POINTER)
        if self.indptr is not None and not found:
            steps = [int(x) for x in self.indptr]
            if steps[0] != 0 or steps[-1] != self.nnz or any(a > b for a, b in pairwise(steps)):
                found.add(BAD_STRUCTURE)
        if self.indices is not None and any(not 0 <= int(x) < self.minor for x in self.indices):
            found.add(BAD_INDEX)
        return found

    @property
    def matrix(self) -> Matrix:
        """The matrix that a valid struct represents."""
        assert self.indptr is not None
        major = np.repeat(np.arange(self.major), np.diff(self.indptr))
        minor = np.zeros(0, int) if self.indices is None else self.indices
        place = (major, minor) if self.format == "csr" else (minor, major)
        dense, stored = np.zeros(self.shape), np.zeros(self.shape, bool)
        np.add.at(dense, place, 0.0 if self.data is None else self.data)
        stored[place] = True
        return Matrix(dense, stored)


@dataclass(frozen=True)
class Declared:
    """The fields that the caller sets in the struct of S: dtypes (0: none), and offsets of nnz and shape from the right
    values. is_early: the dtypes are set before the call, else together with the arrays. lost: the array that is
    missing, 1 data, 2 indices, 0 none. threads: of the context.
    """

    is_early: bool = False
    dtype: int = 0
    index_dtype: int = 0
    nnz: int = 0
    rows: int = 0
    columns: int = 0
    lost: int = 0
    threads: int = 0

    def faults(self, has_arrays: bool, index_dtype: str, wanted: Matrix) -> set[int]:
        """The statuses for the faults of the declaration. wanted: S. has_arrays: the caller provides the memory of S"""
        found = set()
        is_other = self.dtype not in (0, FLOAT64) or self.index_dtype not in (0, _INDEX_CODES[index_dtype])
        if is_other and (self.is_early or has_arrays):
            found.add(WRONG_DTYPE)
        if has_arrays:
            rows, columns = wanted.shape
            shape = (rows + self.rows, columns + self.columns)
            if self.nnz or (shape != wanted.shape and shape != (0, 0)):
                found.add(WRONG_EXTENT)
            if self.lost and wanted.stored.any():
                found.add(NULL_POINTER)
        return found


@dataclass(frozen=True)
class Case:
    """One call.   flags: of the context; mode: see structures.c"""

    seed: int
    function: str
    format: str
    index_dtype: str
    n: int
    p: int
    flags: int
    mode: int
    A: Structure
    B: Structure
    x: Array
    y: Array
    declared: Declared = Declared()

    @property
    def elements(self) -> int:
        return elements(self.function, self.n, self.p)

    @property
    def faults(self) -> set[int]:
        """The statuses that the call may return; none if it must succeed."""
        found = {x for one in (self.A, self.B) for x in one.faults(self.n, self.p, self.index_dtype)}
        if self.flags & ~CANONICAL or self.declared.threads < 0:
            found.add(WRONG_CONTEXT)
        if found:  # S is not reached, or means nothing
            return found
        return self.declared.faults(bool(self.mode & 2), self.index_dtype, expected(self)[0])


def drawn(seed: int, format: str, index_dtype: str) -> Case:
    """The case of a seed."""
    rng = np.random.default_rng(seed)
    n, p = (int(rng.choice(_SIZES)) for _ in range(2))
    order = str(rng.choice(["sorted", "shuffled", "repeated"], p=[0.5, 0.25, 0.25]))
    A, B = (_structure(rng, n, p, format, index_dtype, order) for _ in range(2))
    flags = CANONICAL if order == "sorted" and rng.random() < 0.3 else 0
    if not flags and rng.random() < 0.6:
        for _ in range(int(rng.choice([1, 1, 2]))):
            if rng.random() < 0.5:
                A = _faulty(rng, A)
            else:
                B = _faulty(rng, B)
    name, mode = NAMES[int(rng.integers(len(NAMES)))], int(rng.choice([0, 0, 1, 2, 3]))
    x, y = rng.uniform(-1, 1, p), rng.uniform(-1, 1, n)
    declared = _declared(rng, index_dtype)
    flags |= int(rng.choice([0, 2, 4, 2**30], p=[0.97, 0.01, 0.01, 0.01]))
    return Case(seed, name, format, index_dtype, n, p, flags, mode, A, B, x, y, declared)


def _declared(rng: np.random.Generator, index_dtype: str) -> Declared:
    """A declaration without content, a right one, or one with a fault."""
    right = Declared(bool(rng.random() < 0.5), FLOAT64, _INDEX_CODES[index_dtype])
    step = int(rng.choice([-20, -2, -1, 1, 2, 2**31, 2**62]))
    match int(rng.integers(16)):
        case 0:
            return replace(right, dtype=int(rng.integers(-1, 17)))
        case 1:
            return replace(right, index_dtype=int(rng.integers(-1, 17)))
        case 2:
            return replace(right, nnz=step)
        case 3:
            return replace(right, rows=step)
        case 4:
            return replace(right, columns=step)
        case 5:
            return replace(right, lost=int(rng.integers(1, 3)))
        case 6:
            return replace(right, threads=-int(rng.integers(1, 2**31)))
    return right if rng.random() < 0.5 else Declared()


def _structure(rng: np.random.Generator, n: int, p: int, format: str, index_dtype: str, order: str) -> Structure:
    """A valid matrix."""
    major, minor = (n, p) if format == "csr" else (p, n)
    counts = rng.binomial(minor, rng.choice([0.0, 0.2, 0.5, 1.0]), major) if major else np.zeros(0, int)
    rows = [np.sort(rng.choice(minor, int(count), replace=False)) for count in counts]
    if order == "repeated":
        rows = [np.concatenate([row, rng.choice(row, int(rng.integers(3)))]) if len(row) else row for row in rows]
    if order != "sorted":
        rows = [rng.permutation(row) for row in rows]
    indices = np.concatenate(rows) if rows else np.zeros(0)
    indptr = np.cumsum([0, *map(len, rows)])
    data = rng.uniform(-1, 1, len(indices)) * (rng.random(len(indices)) < 0.9)
    is_null = not len(indices) and rng.random() < 0.5
    return Structure(
        format, len(indices), (n, p), FLOAT64, _INDEX_CODES[index_dtype],
        None if is_null else data, None if is_null else indices.astype(index_dtype), indptr.astype(index_dtype),
    )  # fmt: skip


def _faulty(rng: np.random.Generator, A: Structure) -> Structure:
    """A matrix with a changed number, or without an array; arrays have the lengths that the struct announces."""
    kind = int(rng.integers(8))
    if kind <= 1 and A.indices is not None and len(A.indices):
        return replace(A, indices=_change_numbers(rng, A.indices, A.minor))
    if kind <= 4 and A.indptr is not None:
        return replace(A, indptr=_change_numbers(rng, A.indptr, A.nnz))
    if kind == 5:
        nnz = A.nnz + int(rng.choice([-3, -2, -1, 1, 2, 3]))
        return replace(A, nnz=nnz, data=_resized(A.data, nnz), indices=_resized(A.indices, nnz))
    if kind == 6:
        lost = int(rng.integers(3))
        return (
            replace(A, data=None) if lost == 0 else replace(A, indices=None) if lost == 1 else replace(A, indptr=None)
        )
    if rng.random() < 0.5:
        code = int(rng.integers(-1, 13))
        return replace(A, dtype=code) if rng.random() < 0.5 else replace(A, index_dtype=code)
    shape = list(A.shape)
    axis = int(rng.integers(2))
    shape[axis] = min(shape[axis] + int(rng.choice([-20, -1, 1, 2**31, 2**62])), 2**63 - 1)
    return replace(A, shape=(shape[0], shape[1]))


def _resized(x: Array | None, nnz: int) -> Array | None:
    """The array resized to the number of elements that the struct announces."""
    return x if x is None else np.resize(x, max(nnz, 0)) if len(x) else np.zeros(max(nnz, 0), x.dtype)


def _change_numbers(rng: np.random.Generator, x: Array, edge: int) -> Array:
    """Change the number at one position or at all: to a neighbour, to a limit, or to any number."""
    limits = np.iinfo(x.dtype)
    copy = x.copy()
    for place in range(len(x)) if rng.random() < 0.05 else [int(rng.integers(len(x)))]:
        near = [int(x[place]) - 1, int(x[place]) + 1, edge - 1, edge, edge + 1, -1]
        far = [limits.min, limits.max, limits.max - 1, int(rng.integers(limits.min, limits.max))]
        copy[place] = np.clip(
            int(rng.choice(near)) if rng.random() < 0.7 else far[int(rng.integers(4))], limits.min, limits.max
        )
    return copy


def expected(case: Case) -> tuple[Matrix, Array]:
    """S and d of a case without faults."""
    return meaning(case.function, case.A.matrix, case.B.matrix, case.x, case.y)


def encoded(case: Case) -> bytes:
    """The case as bytes, in the format that structures.c reads."""
    head = (
        is_transposed(case.function, case.format),
        NAMES.index(case.function),
        case.n,
        case.p,
        case.flags,
        case.mode,
    )
    parts = [struct.pack("<7q", *head, case.elements)]
    for one in (case.A, case.B):
        parts.append(struct.pack("<5q", one.nnz, *one.shape, one.dtype, one.index_dtype))
        parts += [
            struct.pack("<q", -1) if x is None else _block(x, x.nbytes) for x in (one.data, one.indices, one.indptr)
        ]
    d = case.declared
    parts.append(struct.pack("<8q", d.is_early, d.dtype, d.index_dtype, d.nnz, d.rows, d.columns, d.lost, d.threads))
    return b"".join([*parts, _block(case.x, len(case.x)), _block(case.y, len(case.y))])


def _block(x: Array, count: int) -> bytes:
    return struct.pack("<q", count) + x.tobytes()
