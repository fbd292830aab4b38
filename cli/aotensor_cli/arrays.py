"""Arrays from files and literals, and into files: .npy, .npz, .json, .csv, and .mtx to read."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from aotensor_cli.options import Refusal

AnyArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]

READABLE: Final = (".npy", ".npz", ".mtx", ".csv", ".json")
WRITABLE: Final = (".npy", ".npz", ".json", ".csv")


def read_value(text: str, name: str, dtype: str, rank: int) -> AnyArray:
    """The array that `NAME=text` means: a file by its suffix, `file.npz:key`, or a literal such as 3.0 or [1, 2].

    Numbers that are written as text (.csv, .json, literals) take `dtype` where they fit it exactly; arrays of .npy,
    .npz and .mtx keep their own. .csv has one row per line, a header line is skipped; .npz is looked up by `name`.

    Raises: Refusal for a file or literal that cannot be read, or has another rank than `rank`.
    """
    path, key = _path_and_key(text, name)
    if path is None:
        return _as_dtype(_literal(text, name), dtype, name)
    values = read_file(path)
    if None in values:
        array = values[None]
    elif key in values:
        array = values[key]
    elif len(values) == 1 and key == name:
        array = next(iter(values.values()))
    else:
        raise Refusal(f"{path}: there is no array {key}", f"it has {', '.join(map(str, values))}")
    if path.suffix == ".csv":
        array = _squeezed(array, rank)
    return array if path.suffix in (".npy", ".npz", ".mtx") else _as_dtype(array, dtype, name)


def _path_and_key(text: str, name: str) -> tuple[Path | None, str]:
    """The file that a value names, if it names one."""
    if Path(text).suffix in READABLE:
        return Path(text), name
    head, _, tail = text.rpartition(":")
    if Path(head).suffix == ".npz" and tail:
        return Path(head), tail
    return None, name


def read_file(path: Path) -> dict[str | None, AnyArray]:
    """The arrays in a file by name; None is the name of one that has none.

    Raises: Refusal if it is not there or cannot be understood.
    """
    try:
        match path.suffix:
            case ".npy":
                return {None: np.load(path, allow_pickle=False)}
            case ".npz":
                with np.load(path, allow_pickle=False) as archive:
                    return {key: archive[key] for key in archive.files}
            case ".mtx":
                matrix = import_module("scipy.io").mmread(path)  # half a second that other files do not pay
                return {None: np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())}
            case ".csv":
                return {None: _read_csv(path)}
            case ".json":
                tree = json.loads(path.read_text(encoding="utf-8"))
                return {key: _array(x) for key, x in tree.items()} if isinstance(tree, dict) else {None: _array(tree)}
    except FileNotFoundError:
        raise Refusal(f"{path}: there is no such file") from None
    except OSError as error:
        raise Refusal(f"{path}: cannot be read ({(error.strerror or str(error)).lower()})") from error
    except (ValueError, OverflowError, KeyError, EOFError, zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise Refusal(f"{path}: cannot be understood ({str(error).splitlines()[0]})") from error
    raise Refusal(f"{path}: files of this kind are not read", f"use {', '.join(READABLE)}")


def _read_csv(path: Path) -> AnyArray:
    """Rows of numbers; one header line is skipped."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if lines and not _are_numbers(lines[0]):
        lines = lines[1:]
    rows = [[_number(cell) for cell in line.split(",")] for line in lines]
    widths = sorted({len(row) for row in rows})
    if len(widths) > 1:
        raise ValueError(f"rows of {widths[0]} and of {widths[-1]} cells")
    return _array(rows).reshape(len(rows), widths[0] if widths else 0)


def _are_numbers(line: str) -> bool:
    try:
        return all(isinstance(_number(cell), int | float) for cell in line.split(","))
    except ValueError:
        return False


def _number(cell: str) -> float | int | bool:
    text = cell.strip()
    if text in ("True", "False"):
        return text == "True"
    try:
        return int(text)
    except ValueError:
        return float(text)


def _literal(text: str, name: str) -> AnyArray:
    try:
        return _array(json.loads(text))
    except (ValueError, OverflowError):
        pass
    try:
        return np.asarray(float(text))  # nan, inf, -inf, 1_000
    except ValueError:
        hint = f"write a number, a list such as [1, 2], or a file ending in {', '.join(READABLE)}"
        raise Refusal(f"{name}={text}: neither a literal nor a file", hint) from None


def _array(tree: object) -> AnyArray:
    """Nested lists as an array; integers stay exact, also those beyond int64."""
    array = np.asarray(tree)
    if array.dtype.kind in "fO" and array.size and all(type(x) is int for x in np.asarray(tree, dtype=object).flat):
        array = np.array(tree, dtype=np.uint64)
    if array.dtype.kind not in "biuf":
        raise ValueError("not an array of numbers")
    return array


def _squeezed(array: AnyArray, rank: int) -> AnyArray:
    """A table of one row or column as a vector, one of a single cell as a scalar, where that is expected."""
    if rank == 1 and 1 in array.shape:
        return array.ravel()
    return array.reshape(()) if rank == 0 and array.size == 1 else array


def _as_dtype(array: AnyArray, dtype: str, name: str) -> AnyArray:
    """Numbers that were written as text, in the dtype that is expected."""
    with np.errstate(all="ignore"):
        converted = array.astype(dtype)
    if np.dtype(dtype).kind == "f" or np.array_equal(converted, array):
        return converted
    raise Refusal(f"{name}: {_short(array)} is no {dtype}")


def _short(array: AnyArray) -> str:
    return str(array) if array.ndim == 0 else f"an array of {array.dtype}"


# --- writing -------------------------------------------------------------------------------------------------------


def file_content(path: Path, outputs: Mapping[str, AnyArray]) -> bytes:
    """What to write into `path`; `read_file` and `read_value` read it back unchanged.

    Raises: Refusal for another suffix, or one that cannot hold these outputs.
    """
    if path.suffix not in WRITABLE:
        raise Refusal(f"{path}: files of this kind are not written", f"use {', '.join(WRITABLE)}")
    if path.suffix == ".json":
        return (json.dumps({key: x.tolist() for key, x in outputs.items()}) + "\n").encode()
    buffer = io.BytesIO()
    if path.suffix == ".npz":
        np.savez(buffer, allow_pickle=False, **outputs)
        return buffer.getvalue()
    if len(outputs) != 1:
        raise Refusal(f"{path}: {len(outputs)} outputs do not fit one {path.suffix} file", "use .npz or .json")
    (array,) = outputs.values()
    if path.suffix == ".csv":
        return _csv(path, array)
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _csv(path: Path, array: AnyArray) -> bytes:
    if array.ndim > 2:
        raise Refusal(f"{path}: an array of rank {array.ndim} does not fit a table", "use .npy, .npz or .json")
    rows = array.reshape(-1, 1) if array.ndim < 2 else array
    return "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist()).encode()
