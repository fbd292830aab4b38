"""Read arrays and sparse matrices from files and literals, and write them: .npy, .npz, .json, .csv, .mtx."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from aotensor_cli.options import Refusal
from aotensor_cli.reading.matrices import (
    content_of_one,
    from_tree,
    is_matrix,
    matrix_of,
    members,
    tree_of,
    values_of_archive,
)
from aotensor_runtime.arrays.layout import DTYPES
from aotensor_runtime.arrays.plain import kind_of

AnyArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]

READABLE: Final = (".npy", ".npz", ".mtx", ".csv", ".json")
WRITABLE: Final = (".npy", ".npz", ".json", ".csv", ".mtx")


def read_matrix(text: str, name: str, dtype: str) -> Any:
    """The sparse matrix that `NAME=text` means: an .npz of scipy.sparse.save_npz, an .mtx, or a file that was written
    here; `file.npz:key` for one of several.

    Numbers that are written as text (.mtx, .json) take `dtype` where they fit it exactly.

    Raises: Refusal for a file that cannot be read, or holds no matrix.
    """
    path, key = _path_and_key(text, name)
    found: Any = np.zeros(()) if path is None else _chosen(path, key, name)
    if path is None or not is_matrix(found):
        raise Refusal(f"{name}={text}: this is not a sparse matrix", "use an .npz of scipy.sparse.save_npz, or an .mtx")
    if path.suffix in (".mtx", ".json"):
        found.data = _as_dtype(found.data, dtype, name)
    return found


def read_value(text: str, name: str, dtype: str, rank: int) -> AnyArray:
    """The array that `NAME=text` means: a file by its suffix, `file.npz:key`, or a literal such as 3.0 or [1, 2].

    Numbers that are written as text (.csv, .json, literals) take `dtype` where they fit it exactly; arrays of .npy,
    .npz and .mtx keep their own. .csv has one row per line, a header line is skipped; .npz is looked up by `name`.

    Raises: Refusal for a file or literal that cannot be read, or has another rank than `rank`.
    """
    path, key = _path_and_key(text, name)
    if path is None:
        return _as_dtype(_literal(text, name), dtype, name)
    array = _chosen(path, key, name)
    if is_matrix(array):
        array = array.toarray()
    if path.suffix == ".csv":
        array = _squeezed(array, rank)
    return array if path.suffix in (".npy", ".npz", ".mtx") else _as_dtype(array, dtype, name)


def _chosen(path: Path, key: str, name: str) -> Any:
    """The array with name `key` in a file; the only array of the file if `key` is the name of the input."""
    values = read_file(path)
    if None in values:
        return values[None]
    if key in values:
        return values[key]
    if len(values) == 1 and key == name:
        return next(iter(values.values()))
    raise Refusal(f"{path}: the file has no array {key}", f"it has {', '.join(map(str, values))}")


def _path_and_key(text: str, name: str) -> tuple[Path | None, str]:
    """Split `file.npz:key` into path and key; None if the text is not a file."""
    if Path(text).suffix in READABLE:
        return Path(text), name
    head, _, tail = text.rpartition(":")
    if Path(head).suffix == ".npz" and tail:
        return Path(head), tail
    return None, name


def read_file(path: Path) -> dict[str | None, Any]:
    """The arrays and matrices in a file by name; None is the name of one that has none.

    Raises: Refusal if it is not there or cannot be understood, and for a device or a pipe, which may never end.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise Refusal(f"{path}: this is not a regular file", "write the data to a file first")
    try:
        match path.suffix:
            case ".npy":
                return {None: _array_of(np.load(path, allow_pickle=False), "its content")}
            case ".npz":
                with np.load(path, allow_pickle=False) as archive:
                    return values_of_archive(path, {key: _array_of(archive[key], key) for key in archive.files})
            case ".mtx":
                return {None: matrix_of(path)}
            case ".csv":
                return {None: _read_csv(path)}
            case ".json":
                tree = json.loads(path.read_text(encoding="utf-8"))
                return {key: _value(x) for key, x in tree.items()} if isinstance(tree, dict) else {None: _array(tree)}
    except FileNotFoundError:
        raise Refusal(f"{path}: there is no such file") from None
    except OSError as error:
        raise Refusal(f"{path}: cannot be read ({(error.strerror or str(error)).lower()})") from error
    except Exception as error:  # what NumPy and zipfile trip over in a damaged file: TokenError, zlib.error, ...
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise Refusal(f"{path}: cannot be understood ({reason})") from error
    raise Refusal(f"{path}: files of this kind cannot be read", f"use {', '.join(READABLE)}")


def _array_of(x: Any, name: str) -> AnyArray:
    """Check a result of `np.load`: it may be an archive, or the bytes of a member without NumPy's header."""
    if not isinstance(x, np.ndarray):
        raise ValueError(f"{name} is not an array")
    return x


def _value(tree: Any) -> Any:
    return from_tree(tree) if isinstance(tree, dict) else _array(tree)


def _read_csv(path: Path) -> AnyArray:
    """Rows of numbers; one header line is skipped."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if lines and not _are_numbers(lines[0]):
        lines = lines[1:]
    rows = [[_number(cell) for cell in line.split(",")] for line in lines]
    widths = sorted({len(row) for row in rows})
    if len(widths) > 1:
        raise ValueError(f"some rows have {widths[0]} cells and others {widths[-1]}")
    return _array(rows).reshape(len(rows), widths[0] if widths else 0)


def _are_numbers(line: str) -> bool:
    try:
        return all(isinstance(_number(cell), int | float | complex) for cell in line.split(","))
    except ValueError:
        return False


def _number(cell: str) -> complex | float | int | bool:
    text = cell.strip()
    if text in ("True", "False"):
        return text == "True"
    try:
        return int(text)
    except ValueError:
        return _inexact(text)


def _inexact(text: str) -> float | complex:
    """Parse a float or complex literal: nan, inf, -inf, 1_000, 1+2j."""
    try:
        return float(text)
    except ValueError:
        return complex(text)


def _literal(text: str, name: str) -> AnyArray:
    try:
        return _array(json.loads(text))
    except (ValueError, OverflowError):
        pass
    try:
        return np.asarray(_inexact(text))
    except ValueError:
        hint = f"write a number, a list such as [1, 2], or a file ending in {', '.join(READABLE)}"
        raise Refusal(f"{name}={text}: this is neither a literal nor a file", hint) from None


def _array(tree: object) -> AnyArray:
    """Nested lists as an array; integers stay exact, also those beyond int64. Complex numbers are texts in them."""
    array = np.asarray(tree)
    if array.dtype.kind == "U":
        array = np.array([complex(text) for text in array.ravel().tolist()]).reshape(array.shape)
    if array.dtype.kind in "fO" and array.size and all(type(x) is int for x in np.asarray(tree, dtype=object).flat):
        array = np.array(tree, dtype=np.uint64)
    if array.dtype.kind not in "biufc":
        raise ValueError("it is not an array of numbers")
    return array


def _squeezed(array: AnyArray, rank: int) -> AnyArray:
    """Reduce a one-row or one-column table to a vector, and one cell to a scalar, to reach the expected rank."""
    if rank == 1 and 1 in array.shape:
        return array.ravel()
    return array.reshape(()) if rank == 0 and array.size == 1 else array


def _as_dtype(array: AnyArray, dtype: str, name: str) -> AnyArray:
    """Convert numbers that were read from text to the expected dtype."""
    kind = kind_of(DTYPES[dtype])
    if array.dtype.kind == "c" and kind != "c":
        raise Refusal(f"{name}: {_short(array)} does not fit {dtype}")
    with np.errstate(all="ignore"):
        converted = array.astype(DTYPES[dtype])
    if kind in "fc" or np.array_equal(converted, array):
        return converted
    raise Refusal(f"{name}: {_short(array)} does not fit {dtype}")


def _short(array: AnyArray) -> str:
    return str(array) if array.ndim == 0 else f"an array of {array.dtype}"


# --- writing -------------------------------------------------------------------------------------------------------


def file_content(path: Path, outputs: Mapping[str, Any]) -> bytes:
    """The bytes to write to `path`; `read_file` and `read_value` read them back unchanged.

    Raises: Refusal for another suffix, or one that cannot hold these outputs.
    """
    if path.suffix not in WRITABLE:
        raise Refusal(f"{path}: files of this kind cannot be written", f"use {', '.join(WRITABLE)}")
    if path.suffix == ".json":
        return (json.dumps({key: tree_of(x) for key, x in outputs.items()}) + "\n").encode()
    buffer = io.BytesIO()
    values = list(outputs.values())
    if path.suffix == ".npz" and not (len(values) == 1 and is_matrix(values[0])):
        arrays = [members(key, x) if is_matrix(x) else {key: x} for key, x in outputs.items()]
        np.savez(buffer, allow_pickle=False, **{key: x for part in arrays for key, x in part.items()})
        return buffer.getvalue()
    if len(values) != 1:
        raise Refusal(f"{path}: {len(values)} outputs do not fit one {path.suffix} file", "use .npz or .json")
    array = values[0]
    if is_matrix(array):
        return content_of_one(path, array)
    if path.suffix == ".mtx":
        raise Refusal(f"{path}: a dense array cannot be written to this kind of file", "use .npy, .npz, .json or .csv")
    if path.suffix == ".csv":
        return _csv(path, array)
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _csv(path: Path, array: AnyArray) -> bytes:
    if array.ndim > 2:
        raise Refusal(f"{path}: an array of rank {array.ndim} does not fit a table", "use .npy, .npz or .json")
    rows = array.reshape(-1, 1) if array.ndim < 2 else array
    return "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist()).encode()
