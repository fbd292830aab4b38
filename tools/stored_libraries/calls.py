"""Recorded calls of stored libraries: written as JSON when a release is made, repeated by every later runtime.

    python -m tools.stored_libraries.calls tests/compatibility/0.2.0

repeats those of one release with `aotensor_runtime` and NumPy alone, SciPy for sparse matrices, and prints a line for
each library. Values are kept as texts and numbers, so that no later version of a package reads them otherwise.
"""

from __future__ import annotations

import json
import lzma
import platform
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import aotensor_runtime
from aotensor_runtime.arrays.layout import DTYPES
from aotensor_runtime.rounds import open_rounds
from aotensor_runtime.vectors import replay

CALLS: Final = "calls.json"
"""The file of a release, beside its libraries: library → calls."""
_RTOL: Final = {2: 1e-2, 4: 1e-5, 8: 1e-10}
"""Bytes of a real number → relative error that another processor may add: its BLAS, its order of sums."""


@dataclass(frozen=True)
class Call:
    """A call and its results, by the reference; or the builtin exception that it raises.

    function: its name; "" for the function over rows that a library of rounds computes in chunks.
    arguments: by name, encoded. results: encoded; None for a call that raises. Calls are in order: functions with state
    depend on it.
    """

    function: str
    arguments: Mapping[str, Any]
    results: Any = None
    raises: str = ""


@dataclass(frozen=True)
class Stored:
    """A library of a release. platform: the one that can load it. data: the bytes of the file."""

    release: str
    name: str
    platform: str
    file: str
    calls: tuple[Call, ...]
    folder: Path

    @property
    def data(self) -> bytes:
        """The library."""
        return lzma.decompress((self.folder / f"{self.file}.xz").read_bytes())


# --- values as JSON --------------------------------------------------------------------------------------------------


def encode(value: Any) -> Any:
    """A result or argument as JSON: numbers, arrays, sparse matrices, and lists and dicts of them."""
    if isinstance(value, dict):
        return {"dict": {name: encode(x) for name, x in value.items()}}
    if isinstance(value, list | tuple):
        return {"list": [encode(x) for x in value]}
    if hasattr(value, "indptr"):
        parts = {name: encode(getattr(value, name)) for name in ("data", "indices", "indptr")}
        return {"sparse": value.format, "shape": list(value.shape), **parts}
    array = np.asarray(value)
    flat = array.astype(np.float32) if array.dtype.name == "bfloat16" else array
    numbers = [[z.real, z.imag] for z in flat.ravel().tolist()] if flat.dtype.kind == "c" else flat.ravel().tolist()
    order = {"order": "F"} if array.flags.f_contiguous and not array.flags.c_contiguous else {}
    return {"dtype": array.dtype.name, "shape": list(array.shape), "values": numbers, **order}


def decode(text: Any) -> Any:
    """The inverse of `encode`."""
    if "dict" in text:
        return {name: decode(x) for name, x in text["dict"].items()}
    if "list" in text:
        return [decode(x) for x in text["list"]]
    if "sparse" in text:
        import scipy.sparse

        form = getattr(scipy.sparse, f"{text['sparse']}_matrix")
        return form(tuple(decode(text[name]) for name in ("data", "indices", "indptr")), shape=tuple(text["shape"]))
    numbers = text["values"]
    if text["dtype"].startswith("complex"):
        numbers = [complex(*pair) for pair in numbers]
    return np.array(np.array(numbers, DTYPES[text["dtype"]]).reshape(text["shape"]), order=text.get("order", "C"))


def write_calls(path: Path, libraries: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the file of a release. libraries: name → file, platform and calls."""
    lines = [
        f"{json.dumps(name)}: {json.dumps({**about, 'calls': [asdict(call) for call in about['calls']]})}"
        for name, about in libraries.items()
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def read_release(folder: Path) -> list[Stored]:
    """The libraries of a release."""
    found = json.loads((folder / CALLS).read_text(encoding="utf-8"))
    return [
        Stored(folder.name, name, about["platform"], about["file"], tuple(Call(**c) for c in about["calls"]), folder)
        for name, about in found.items()
    ]


# --- calls -----------------------------------------------------------------------------------------------------------


def repeat(library: aotensor_runtime.Library, calls: tuple[Call, ...]) -> None:
    """Run the library's own test vectors, then the recorded calls in their order.

    Raises: AssertionError, with the call, if a result differs.
    """
    for vector in replay(library):
        assert vector.problem is None, f"{library.manifest.name}: {vector.function}: {vector.problem}"
    for number, call in enumerate(calls):
        where = f"{library.manifest.name}: call {number} of {call.function}"
        given = {name: decode(x) for name, x in call.arguments.items()}
        if not call.function:
            _compare(where, open_rounds(library)(chunk_rows=7, **given), decode(call.results))
            continue
        f = library.functions[call.function]
        if call.raises:
            _check_raises(where, call.raises, f, given)
            continue
        _compare(where, f(**given), decode(call.results))
        if not f.state:
            for how, other in _other_ways(f, given):
                _compare(f"{where}, {how}", other(), decode(call.results))


def _check_raises(where: str, kind: str, f: Callable[..., Any], given: Mapping[str, Any]) -> None:
    try:
        f(**given)
    except aotensor_runtime.AotensorError as error:
        names = [base.__name__ for base in type(error).__mro__]
        assert kind in names, f"{where}: {type(error).__name__} is not a {kind}: {error}"
    else:
        raise AssertionError(f"{where}: no {kind}")


def _other_ways(f: Any, given: Mapping[str, Any]) -> list[tuple[str, Callable[[], Any]]]:
    """A call with one thread, with strided arrays, and by bound buffers."""
    strided = {name: _strided(x) for name, x in given.items()}
    ways = [("one thread", lambda: f.with_threads(1)(**given)), ("strided", lambda: f(**strided))]
    if not any(isinstance(getattr(x, "indptr", None), np.ndarray) for x in given.values()):
        ways.append(("bound", lambda: f.bind(**given)()))
    return ways


def _strided(x: Any) -> Any:
    return np.repeat(x[::-1], 2, axis=0)[::-2] if isinstance(x, np.ndarray) and x.ndim else x


def _compare(where: str, found: Any, expected: Any) -> None:
    """Raises: AssertionError for a difference in kind, names, dtypes, shapes or values."""
    if isinstance(expected, dict):
        assert list(found) == list(expected), f"{where}: {list(found)}, not {list(expected)}"
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, list):
        assert len(found) == len(expected), f"{where}: {len(found)} results, not {len(expected)}"
        for k, (x, y) in enumerate(zip(found, expected, strict=True)):
            _compare(f"{where}, result {k}", x, y)
    elif hasattr(expected, "indptr"):
        assert (found.format, found.shape) == (expected.format, expected.shape), f"{where}: another matrix"
        for name in ("indptr", "indices", "data"):
            _compare(f"{where}, {name}", getattr(found, name), getattr(expected, name))
    else:
        found = np.asarray(found)
        kinds = (found.dtype, found.shape), (expected.dtype, expected.shape)
        assert kinds[0] == kinds[1], f"{where}: {kinds[0]}, not {kinds[1]}"
        size = expected.dtype.itemsize // (2 if expected.dtype.kind == "c" else 1)
        is_exact = expected.dtype.kind in "biu"
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        rtol = 0.0 if is_exact else _RTOL[size]
        x, y = (z if is_exact else z.astype(wide) for z in (found, expected))
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol, err_msg=where)


def main(folders: list[str]) -> None:
    """Repeat the calls of the releases in the given folders."""
    for stored in [one for folder in folders for one in read_release(Path(folder))]:
        if stored.platform == here():
            repeat(aotensor_runtime.Library(stored.data), stored.calls)
            sys.stdout.write(f"{stored.name}: {len(stored.calls)} calls\n")
        else:
            sys.stdout.write(f"{stored.name}: skipped, for {stored.platform}, not {here()}\n")


def here() -> str:
    """The platform of this process, such as linux-x86_64."""
    return f"{platform.system()}-{platform.machine()}".lower()


if __name__ == "__main__":
    main(sys.argv[1:])
