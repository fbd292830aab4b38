"""The process that damages files and reads them as users do: `inspect`, `load`, calls, `run`, `verify`, the cache."""

from __future__ import annotations

import contextlib
import io
import json
import os
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import scipy.io
import scipy.sparse
from tools.fuzz.child import serve
from tools.fuzz.compare import Finding
from tools.fuzz.damage import changed, damaged
from tools.fuzz.values import is_sparse

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.codegen.container import seal
from aotensor.errors import AotensorError
from aotensor_cli.main import run as run_command
from aotensor_runtime.container import Container
from aotensor_runtime.errors import LibraryError

X: Final = np.linspace(-1.0, 2.0, 12).reshape(3, 4)
MATRIX: Final = scipy.sparse.csr_matrix(np.where(X > 0.5, X, 0.0))
BUG: Final = 70
_CALLS: Final = {"dense": (X,), "stored": (MATRIX, X), "chosen": (X,), "counted": (X,)}
PROCESSES: Final = 1000
"""One library of so many goes through what starts a process: `aotensor verify`, and the count of operations in
`aotensor inspect`. The others are read without these two."""


@dataclass(frozen=True)
class Bench:
    """The undamaged files, and the results of the library."""

    folder: Path
    library: bytes
    sections: dict[str, tuple[int, int]]
    expected: dict[str, Any]
    inputs: dict[str, bytes]

    @property
    def place(self) -> Path:
        """The path to which a damaged library is written."""
        return self.folder / f"lib{os.getpid()}.so"


def _functions() -> list[aot.Function]:
    x = at.matrix("x", shape=("n", "m"))
    A = sp.csr_matrix("A", shape=("n", "m"))
    state = aot.shared(np.arange(3.0), name="state")
    return [
        aot.function([x], {"y": at.tanh(x), "g": aot.grad(at.tanh(x).sum(), x)}, name="dense"),
        aot.function([A, x], [sp.sqr(A), (A * x).sum()], name="stored"),
        aot.function([x], x[x > 0], name="chosen"),
        aot.function([x], x.sum() + state.sum(), updates={state: state + 1.0}, name="counted"),
    ]


def make_bench(folder: Path) -> Bench:
    """The undamaged files in a folder; the first process that uses the folder creates them."""
    place = folder / "libwhole.so"
    if not place.exists():
        folder.mkdir(parents=True, exist_ok=True)
        aot.compile(_functions(), folder, name="whole", opt_level=1)
        np.save(folder / "x.npy", X)
        np.savez_compressed(folder / "x.npz", x=X)
        scipy.sparse.save_npz(folder / "A.npz", MATRIX)
        scipy.io.mmwrite(folder / "A.mtx", MATRIX)
        np.savetxt(folder / "x.csv", X, delimiter=",")
        (folder / "x.json").write_text(json.dumps(X.tolist()))
    data = place.read_bytes()
    elf = Container(data).image
    library = aot.load(place)
    expected = {"dense": library.dense(X), "stored": library.stored(MATRIX, X), "chosen": library.chosen(X)}
    names = ("x.npy", "x.npz", "A.npz", "A.mtx", "x.csv", "x.json")
    return Bench(
        folder, data, {name: (s.offset, s.offset + s.size) for name, s in elf.sections.items()}, expected,
        {name: (folder / name).read_bytes() for name in names},
    )  # fmt: skip


_benches: dict[str, Bench] = {}


def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Findings for {"seeds": …, "folder": …}."""
    key = request["folder"]
    if key not in _benches:
        _benches[key] = make_bench(Path(key))
    return [asdict(x) for seed in request["seeds"] for x in examined(_benches[key], seed)]


def examined(bench: Bench, seed: int) -> list[Finding]:
    """Damage one file, read it, and return findings."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(list(_KINDS), p=[share for _, share in _KINDS.values()]))
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            said = _KINDS[kind][0](bench, rng, seed)
    except Exception as error:
        return [Finding(seed, "error", f"{kind}: {type(error).__name__}: {str(error)[:300]}")]
    return [Finding(seed, "error", f"{kind}: {said}")] if said else []


def _raw(bench: Bench, rng: np.random.Generator, seed: int) -> str:
    """Faults anywhere in a library, which the checksum must detect."""
    return _library(bench, damaged(rng, bench.library), seed)


def _tables(bench: Bench, rng: np.random.Generator, seed: int) -> str:
    """Faults in the header of a library file and in its section table."""
    header, table = (0, 64), (int.from_bytes(bench.library[40:48], "little"), len(bench.library))
    return _library(bench, changed(rng, bench.library, *(header if rng.random() < 0.4 else table)), seed)


def _sealed(bench: Bench, rng: np.random.Generator, seed: int) -> str:
    """Faults in data, with a recomputed checksum, so that readers must detect them themselves. Functions are not
    called, since who can forge a checksum can forge code.
    """
    names = [name for name in bench.sections if name.startswith(".aotensor") and "checksum" not in name]
    name = names[int(rng.integers(len(names)))]
    found = changed(rng, bench.library, *bench.sections[name])
    with contextlib.suppress(LibraryError):
        found = seal(found)
    return _library(bench, found, seed, is_called=False)


def _library(bench: Bench, data: bytes, seed: int, is_called: bool = True) -> str:
    """The fault in the handling of a library; "" if there is none."""
    bench.place.write_bytes(data)
    place, is_thorough = str(bench.place), seed % PROCESSES == 0
    commands = [["inspect", place, *more] for more in ([], ["--json"], ["--stage", "loops"])]
    if is_thorough:
        said = next(filter(None, map(_command, [*commands, ["verify", place]])), "")
    else:
        said = _command(commands[seed % len(commands)])
    if said:
        return said
    try:
        library = aot.load(bench.place)
    except AotensorError:
        return ""
    for name, arguments in _CALLS.items() if is_called else ():
        try:
            found = library[name](*arguments)
        except (AotensorError, KeyError):
            continue
        if name in bench.expected and not _is_same(found, bench.expected[name]):
            return f"{name} gives {found!r:.200}"
    return ""


def _command(arguments: list[str]) -> str:
    said, complaints = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complaints):
        code = run_command(arguments)
    if code == BUG or "Traceback" in complaints.getvalue():
        return f"aotensor {arguments[0]} {' '.join(arguments[2:])}: exit {code}: {complaints.getvalue()[:300]}"
    return ""


def _is_same(found: Any, expected: Any) -> bool:
    if isinstance(expected, dict):
        return list(found) == list(expected) and all(_is_same(found[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(_is_same, found, expected))
    if is_sparse(expected):
        return is_sparse(found) and np.array_equal(found.toarray(), expected.toarray())
    return bool(np.array_equal(found, expected))


def _inputs(bench: Bench, rng: np.random.Generator, seed: int) -> str:
    """A damaged file as an input of `aotensor run`."""
    name = list(bench.inputs)[int(rng.integers(len(bench.inputs)))]
    place = bench.folder / f"{os.getpid()}{Path(name).suffix}"
    place.write_bytes(damaged(rng, bench.inputs[name]))
    whole = bench.folder / "libwhole.so"
    if name.startswith("x"):
        return _command(["run", f"{whole}:dense", f"x={place}"])
    return _command(["run", f"{whole}:stored", f"A={place}", f"x={bench.folder / 'x.npy'}"])


def _cached(bench: Bench, rng: np.random.Generator, seed: int) -> str:
    """A damaged cache entry of a function or of a part, which must be recompiled."""
    folder = bench.folder / f"cache{os.getpid()}"
    os.environ["AOTENSOR_CACHE_DIR"] = str(folder)
    x = at.vector("x", shape=("n",))

    def function() -> aot.Function:
        return aot.function([x], at.exp(x) + x.sum(), name="cached")

    values = np.array([0.0, 1.0])
    expected = np.exp(values) + 1.0
    if not np.allclose(function()(values), expected):
        return "wrong before anything was damaged"
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = files[int(rng.integers(len(files)))]
    path.write_bytes(damaged(rng, path.read_bytes()))
    if path.suffix == ".o":
        for other in folder.rglob("*.so"):
            other.unlink()
    found = function()(values)
    return "" if np.allclose(found, expected) else f"{path.name} damaged: {found}"


_KINDS: Final[dict[str, tuple[Callable[[Bench, np.random.Generator, int], str], float]]] = {
    "raw": (_raw, 0.35), "tables": (_tables, 0.15), "sealed": (_sealed, 0.25), "inputs": (_inputs, 0.248),
    "cached": (_cached, 0.002),  # each is compiled twice
}  # fmt: skip

if __name__ == "__main__":
    serve(answer)
