"""Read Matrix Market files line by line, since SciPy's reader crashes on some damaged files.

    %%MatrixMarket matrix coordinate real general      coordinate, array;  real, integer, pattern;
    % a comment                                        general, symmetric, skew-symmetric
    rows columns entries                               rows columns, of an array
    i j value                                          from 1 up; of an array, values by columns

Format: Boisvert, Pozo & Remington, The Matrix Market exchange formats, NISTIR 5935 (1996).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

AnyArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_DTYPES: Final = {"real": "float64", "double": "float64", "integer": "int64", "pattern": "float64"}
_SYMMETRIES: Final = {"general": 0, "symmetric": 1, "skew-symmetric": -1}


@dataclass(frozen=True)
class Entries:
    """Entries of a sparse matrix: values, rows and columns, each (n,), in file order. Duplicates are summed."""

    values: AnyArray
    rows: AnyArray
    columns: AnyArray
    shape: tuple[int, int]


def read_market(path: Path) -> Entries | AnyArray:
    """Read a sparse matrix as entries, or a dense array.   Raises: ValueError for any other content"""
    lines = path.read_text(encoding="utf-8").splitlines()
    head = lines[0].lower().split() if lines else []
    if len(head) != 5 or head[:2] != ["%%matrixmarket", "matrix"]:
        raise ValueError("it does not begin with %%MatrixMarket matrix")
    layout, field, symmetry = head[2:]
    if layout not in ("coordinate", "array") or field not in _DTYPES or symmetry not in _SYMMETRIES:
        raise ValueError(f"matrices of the kind {layout} {field} {symmetry} are not supported")
    rows = [line.split() for line in lines[1:] if line.strip() and not line.startswith("%")]
    is_sparse, sign = layout == "coordinate", _SYMMETRIES[symmetry]
    extents = [int(x) for x in rows[0]] if rows else []
    if len(extents) != 2 + is_sparse or min(extents) < 0:
        raise ValueError("the line of the extents is missing or wrong")
    if sign and extents[0] != extents[1]:
        raise ValueError(f"a {symmetry} matrix must have as many rows as columns")
    if is_sparse:
        return _entries(rows[1:], extents, _DTYPES[field], field == "pattern", sign)
    return _columns(rows[1:], extents, _DTYPES[field], sign)


def _entries(rows: list[list[str]], extents: list[int], dtype: str, is_pattern: bool, sign: int) -> Entries:
    n, m, count = extents
    table = _table(rows, count, 2 if is_pattern else 3)
    i, j = (table[:, k].astype("int64") - 1 for k in (0, 1))
    for index, extent in ((i, n), (j, m)):
        if ((index < 0) | (index >= extent)).any():
            raise ValueError("an entry is outside of the matrix")
    values = np.ones(count, dtype) if is_pattern else table[:, 2].astype(dtype)
    if sign:
        away = i != j
        i, j, values = (
            np.concatenate([i, j[away]]), np.concatenate([j, i[away]]), np.concatenate([values, sign * values[away]]),
        )  # fmt: skip
    return Entries(values, i, j, (n, m))


def _columns(rows: list[list[str]], extents: list[int], dtype: str, sign: int) -> AnyArray:
    n, m = extents
    if not sign:
        return _table(rows, n * m, 1)[:, 0].astype(dtype).reshape(m, n).T
    skipped = int(sign < 0)  # the diagonal of a skew-symmetric matrix
    values = _table(rows, (n - skipped) * (n - skipped + 1) // 2, 1)[:, 0].astype(dtype)
    j, i = np.triu_indices(n, skipped)
    found = np.zeros((n, n), dtype)
    found[j, i] = sign * values
    found[i, j] = values
    return found


def _table(rows: list[list[str]], count: int, width: int) -> AnyArray:
    """Split lines into an array of words, (count, width).

    Raises: ValueError for another number of lines, or of words in one
    """
    if len(rows) != count:
        raise ValueError(f"the file has {len(rows)} entries, but its header announces {count}")
    if any(len(row) != width for row in rows):
        raise ValueError(f"an entry must have {'one number' if width == 1 else f'{width} numbers'}")
    return np.array(rows, dtype=str).reshape(count, width)
