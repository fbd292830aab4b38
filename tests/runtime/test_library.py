"""Opening libraries: what is refused and how it is said; pickling, threads, replaced files, lazy imports."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from entry_harness import handmade, small, small_library

import aotensor_runtime as runtime
from aotensor.codegen.container import seal
from aotensor.codegen.library import write_library
from aotensor.codegen.machine import Machine
from aotensor.codegen.targets.linkage import read_linkage
from aotensor_runtime import abi, mapping
from aotensor_runtime.container import Container
from aotensor_runtime.library import read
from aotensor_runtime.manifest import SCHEMA


def test_what_it_says(lib: runtime.Library, built: tuple[Path, Path]) -> None:
    assert list(lib) == list(lib.functions) == [spec.name for spec in lib.manifest.functions]
    assert "affine" in dir(lib) and lib["affine"] is lib.affine is lib.functions["affine"]
    assert repr(lib).startswith("<library handmade: scale, affine")
    assert lib.path == built[0]
    with pytest.raises(AttributeError, match="has no function 'missing'"):
        lib.missing  # noqa: B018


def test_extra_sections(lib: runtime.Library) -> None:
    assert lib.manifest.sections == ("notes", "empty")
    assert lib.section("notes") == b"some text " * 50
    assert lib.section("empty") == b""
    with pytest.raises(KeyError):
        lib.section("other")


def test_prefix(tmp_path: Path) -> None:
    path, header = write_library(small().library("pre", prefix="my_"), tmp_path)
    assert runtime.load(path).plus(1.0, 2.0) == 3
    assert "int32_t my_plus(" in header.read_text() and "my_aotensor_manifest(void)" in header.read_text()


def test_pickles(lib: runtime.Library) -> None:
    assert pickle.loads(pickle.dumps(lib)).scale([1.0]).tolist() == [2]
    assert pickle.loads(pickle.dumps(lib.scale))([1.0]).tolist() == [2]


def test_runs_in_a_process_without_the_compiler(lib: runtime.Library, tmp_path: Path) -> None:
    pickled = tmp_path / "function.pickle"
    pickled.write_bytes(pickle.dumps(lib.scale))
    program = (
        "import pickle, sys\n"
        f"f = pickle.load(open({str(pickled)!r}, 'rb'))\n"
        "assert f([1.0, 2.0]).tolist() == [2, 4]\n"
        "bad = {'aotensor', 'llvmlite', 'xdsl', 'click', 'scipy'} & set(sys.modules)\n"
        "assert not bad, bad\n"
    )
    runtime_folder = Path(runtime.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(runtime_folder)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


def test_threads(lib: runtime.Library) -> None:
    def work(seed: int) -> bool:
        x = np.random.default_rng(seed).normal(size=(50, 8))
        w = x[0]
        results = [lib.affine(x[::-1], w, float(seed))["y"] for _ in range(200)]
        return all(np.allclose(y, x[::-1] @ w + seed) for y in results)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


def test_a_replaced_file_is_a_new_library(tmp_path: Path) -> None:
    path, _ = write_library(small_library(), tmp_path)
    first = runtime.load(path)
    again, _ = write_library(handmade().library("small"), tmp_path)
    second = runtime.load(again)
    assert again == path
    assert "affine" in second.functions and "affine" not in first.functions
    assert second.scale([1.0]).tolist() == [2] and first.plus(1.0, 1.0) == 2


def test_a_loaded_library_does_not_see_its_file_change(tmp_path: Path) -> None:
    """Written in place, as `cp` does, or cut off: the loaded code is a copy of what was judged."""
    path, _ = write_library(handmade().library("inplace"), tmp_path)
    function = runtime.load(path).scale
    with path.open("r+b") as file:
        file.write(bytes(path.stat().st_size))
        file.truncate(10)
    assert function([1.0, 2.0]).tolist() == [2, 4]


def test_many_libraries_keep_apart(tmp_path: Path) -> None:
    """More than stay open as files: none is taken for another, whatever number its file has."""
    base = small_library().shared()
    place = base.index(b'"aotensor":"') + len(b'"aotensor":"')
    loaded = []
    for k in range(100):
        changed = bytearray(base)
        changed[place : place + 5] = f"{k:05d}".encode()
        loaded.append(runtime.Library(seal(bytes(changed))))
    handles = {library._handle._handle for library in loaded}
    assert len(handles) == 100
    assert all(library.plus(1.0, 2.0) == 3 for library in loaded)


@pytest.mark.parametrize("missing", ["memfd_create", "proc"])
def test_without_anonymous_files(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    if missing == "proc":
        monkeypatch.setattr(os.path, "exists", lambda path: not str(path).startswith("/proc"))
    else:
        monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(mapping, "_opened", {})
    assert runtime.Library(small_library().shared()).plus(1.0, 2.0) == 3


def test_in_place_for_profilers(tmp_path: Path) -> None:
    path, _ = write_library(small_library(), tmp_path)
    program = f"import aotensor_runtime as r; r.load({str(path)!r}).plus(1, 2); print(open('/proc/self/maps').read())"
    for value, is_there in (("1", True), ("0", False)):
        environment = {**os.environ, mapping.IN_PLACE: value}
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
        assert (str(path) in done.stdout) == is_there
        assert "libsmall.so" in done.stdout, "its name is seen either way"


def test_missing_and_unreadable(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file") as caught:
        runtime.load(tmp_path / "nothing.so")
    assert isinstance(caught.value, runtime.LibraryNotFound)
    with pytest.raises(runtime.LibraryError, match="not a regular file"):
        runtime.load(tmp_path)
    with pytest.raises(runtime.LibraryError, match="not a regular file"):
        runtime.load("/dev/zero")
    os.mkfifo(tmp_path / "fifo.so")
    with pytest.raises(runtime.LibraryError, match="not a regular file"):
        runtime.load(tmp_path / "fifo.so")
    with pytest.raises(runtime.LibraryError, match="cannot be read"):
        runtime.load("a\0b.so")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "not an ELF file"),
        (b"hello", "not an ELF file"),
        (b"MZ" + bytes(100), "this is a DOS or Windows file, but not a library"),
        (b"\x7fELF\x01\x01" + bytes(100), "not a 64-bit little-endian ELF file"),
        (b"\x7fELF\x02\x02" + bytes(100), "not a 64-bit little-endian ELF file"),
    ],
)
def test_foreign_files(tmp_path: Path, content: bytes, text: str) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(content)
    with pytest.raises(runtime.ForeignLibrary, match=text):
        runtime.load(path)


def test_foreign_library() -> None:
    import _ctypes

    with pytest.raises(runtime.ForeignLibrary, match="has no manifest"):
        runtime.load(_ctypes.__file__)


def test_object_file(tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(small_library().object_code)
    with pytest.raises(runtime.ForeignLibrary, match="not a shared library"):
        runtime.load(path)


def test_other_architecture(built: tuple[Path, Path], tmp_path: Path) -> None:
    data = bytearray(built[0].read_bytes())
    data[18:20] = (243 if data[18] != 243 else 62).to_bytes(2, "little")
    path = tmp_path / "x.so"
    path.write_bytes(data)
    with pytest.raises(runtime.UnsupportedMachine, match=r"the library is for (RISC-V|x86-64)"):
        runtime.load(path)


def test_cpu_features(tmp_path: Path) -> None:
    host = Machine.host()
    if not host.triple.startswith("x86_64"):
        pytest.skip("an x86 case")
    library = small().library(machine=Machine(host.triple, "x86-64", "+amx-tile,+avx512fp16"))
    flags = Path("/proc/cpuinfo").read_text().split()
    path, _ = write_library(library, tmp_path)
    if {"amx_tile", "avx512_fp16"} <= set(flags):
        pytest.skip("this machine has them all")
    with pytest.raises(runtime.UnsupportedMachine, match=r"CPU features that this machine lacks: .*a[mv]x"):
        runtime.load(path)


def test_truncated(built: tuple[Path, Path]) -> None:
    data = built[0].read_bytes()
    for length in [*range(0, 200, 7), *range(200, len(data) - 1, 397), len(data) - 1]:
        with pytest.raises((runtime.DamagedLibrary, runtime.ForeignLibrary)):
            read(data[:length]).manifest()


def everything(container: Container) -> object:
    """All that anyone reads from a library."""
    manifest = container.manifest()
    values = [value.default for spec in manifest.functions for value in spec.inputs if value.default is not None]
    return (
        manifest,
        {name: container.extra(name) for name in container.extra_names()},
        [container.value(place) for place in values],
        read_linkage(container.image),
        container.computed_checksum(),
    )


def test_a_flipped_bit_is_refused_or_changes_nothing(built: tuple[Path, Path], rng: np.random.Generator) -> None:
    """All headers, tables and names bit by bit; of the rest every byte in a sample."""
    data = built[0].read_bytes()
    whole = everything(read(data))
    table = int.from_bytes(data[40:48], "little")
    names = data.index(b".shstrtab")
    section = read(data).image.sections[abi.CHECKSUM_SECTION]
    thorough = [*range(64 + 56 * 12), *range(section.offset, section.offset + section.size)]
    thorough += [*range(names - 400, len(data)), *range(table, len(data))]
    flips = [(place, bit) for place in sorted(set(thorough)) for bit in (range(8) if place < 64 else (0, 3, 6))]
    flips += [(int(place), int(rng.integers(8))) for place in rng.integers(64, len(data), 2000)]
    accepted = 0
    for place, bit in flips:
        changed = bytearray(data)
        changed[place] ^= 1 << bit
        try:
            container = read(bytes(changed))
            found = everything(container)
        except runtime.LibraryError:
            continue
        accepted += 1
        assert found == whole, f"bit {bit} of byte {place}"
    assert len(flips) > 5000 and accepted < len(flips) / 3


def test_where_sections_lie_is_checked(built: tuple[Path, Path]) -> None:
    """Every number in the section table that says where something of ours is."""
    data = built[0].read_bytes()
    table, count = int.from_bytes(data[40:48], "little"), int.from_bytes(data[60:62], "little")
    loaded = 0
    for k in range(1, count):
        entry = table + 64 * k
        if not data[entry + 8] & 2:
            continue
        loaded += 1
        for field in (0, 4, 24, 32):  # name, type, offset, size
            changed = bytearray(data)
            changed[entry + field] ^= 1
            with pytest.raises(runtime.LibraryError):
                read(bytes(changed))
    assert loaded > 8


@pytest.mark.skipif(shutil.which("strip") is None, reason="strip is not installed")
def test_strip_changes_nothing(built: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    shutil.copy(built[0], path)
    subprocess.run(["strip", "--strip-unneeded", "-R", ".comment", str(path)], check=True)
    assert runtime.load(path).scale([1.0]).tolist() == [2]


def test_code_and_data_are_checked(built: tuple[Path, Path], tmp_path: Path) -> None:
    data = bytearray(built[0].read_bytes())
    place = read(bytes(data)).image.sections[".text"]
    data[place.offset + place.size // 2] ^= 1
    path = tmp_path / "x.so"
    path.write_bytes(data)
    with pytest.raises(runtime.DamagedLibrary, match=f"^{path}: the checksum does not match"):
        runtime.load(path)


def _with_manifest(data: bytes, old: bytes, new: bytes) -> bytes:
    assert len(old) == len(new) and old in data
    return seal(data.replace(old, new))


def _function(tree: Any, name: str) -> Any:
    return next(function for function in tree["functions"] if function["name"] == name)


LIES: dict[str, Callable[[Any], object]] = {
    "another dtype": lambda tree: _function(tree, "scale")["inputs"][0].update(dtype="float32"),
    "another rank": lambda tree: _function(tree, "affine")["inputs"][2].update(shape=["n"]),
    "another extent": lambda tree: _function(tree, "logic")["inputs"][0].update(shape=[3, 3]),
    "an input less": lambda tree: _function(tree, "affine")["inputs"].pop(),
    "an output less": lambda tree: _function(tree, "affine")["outputs"].pop(),
    "outputs in another order": lambda tree: _function(tree, "affine")["outputs"].reverse(),
    "a dim instead of a number": lambda tree: (
        _function(tree, "logic")["inputs"][0].update(shape=["n", 3]), _function(tree, "logic").update(dims=["n"])
    ),
    "a check less": lambda tree: _function(tree, "pick")["checks"].pop(),
    "a function less": lambda tree: tree["functions"].pop(),
    "a function of another name": lambda tree: tree["functions"][0].update(name="scala"),
    "another prefix": lambda tree: tree.update(prefix="p"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_manifest_that_lies_is_refused(built: tuple[Path, Path], tmp_path: Path, lie: str) -> None:
    """With a checksum that fits: ranks, dtypes, counts and names are compared with what the code was compiled for."""
    path, data = tmp_path / "x.so", built[0].read_bytes()
    place = read(data).image.sections[abi.MANIFEST_SECTION]
    tree = json.loads(data[place.offset : place.offset + place.size].rstrip(b"\0"))
    tree["functions"][1]["doc"] = ""  # room for the lie
    LIES[lie](tree)
    text = json.dumps(tree, separators=(",", ":"), sort_keys=True).encode()
    assert len(text) < place.size
    path.write_bytes(seal(data[: place.offset] + text.ljust(place.size, b"\0") + data[place.offset + place.size :]))
    with pytest.raises(runtime.DamagedLibrary):
        runtime.load(path)


def test_a_lie_is_named(built: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    old, new = b'"dtype":"float64","name":"x","shape":["n"]', b'"dtype":"float32","name":"x","shape":["n"]'
    path.write_bytes(_with_manifest(built[0].read_bytes(), old, new))
    with pytest.raises(runtime.DamagedLibrary, match="the code of function scale do not match") as caught:
        runtime.load(path)
    assert caught.value.diagnostic.lines[0].startswith("manifest: scale(x: float32[n])")
    assert caught.value.diagnostic.lines[1].startswith("code:     scale(x: float64[n])")


def test_too_new_and_too_old(built: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    version = b'"abi":%d,' % abi.ABI_VERSION
    path.write_bytes(_with_manifest(built[0].read_bytes(), version, b'"abi":9,'))
    with pytest.raises(runtime.TooNewLibrary, match=f"ABI version 9, and this runtime supports {abi.ABI_VERSION}"):
        runtime.load(path)
    path.write_bytes(_with_manifest(built[0].read_bytes(), version, b'"abi":1,'))
    with pytest.raises(runtime.TooOldLibrary, match=f"ABI version 1, and this runtime supports {abi.ABI_VERSION}"):
        runtime.load(path)
    schema = b'"schema":%d' % SCHEMA
    for found, kind, text in ((b"9", runtime.TooNewLibrary, "a later"), (b"1", runtime.TooOldLibrary, "an earlier")):
        path.write_bytes(_with_manifest(built[0].read_bytes(), schema, b'"schema":' + found))
        with pytest.raises(kind, match=f"{text} aotensor built this library"):
            runtime.load(path)
    data = bytearray(built[0].read_bytes())
    section = read(bytes(data)).image.sections[abi.CHECKSUM_SECTION]
    for version, kind, text in ((9, runtime.TooNewLibrary, "a later"), (1, runtime.TooOldLibrary, "an earlier")):
        data[section.offset + 6] = version
        path.write_bytes(data)
        with pytest.raises(kind, match=f"{text} aotensor built this library"):
            runtime.load(path)


def test_broken_manifest(built: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(_with_manifest(built[0].read_bytes(), b'"dtype":"float32"', b'"dtype":"float99"'))
    with pytest.raises(runtime.DamagedLibrary, match="unknown dtype 'float99'"):
        runtime.load(path)
    for half in (b"\\ud800", b"\xed\xb3\xbf..."):  # a lone surrogate, as JSON escapes it and as bytes
        for old, new in (
            (b'"dtype":"float32"', b'"dtype":".%s"' % half),
            (b'"message":"index ', b'"message":"' + half),
        ):
            path.write_bytes(_with_manifest(built[0].read_bytes(), old, new))
            with pytest.raises(runtime.DamagedLibrary, match="manifest: not JSON"):
                runtime.load(path)


def test_errors_pickle() -> None:
    error = runtime.ArgumentIndexError("title", lines=["fact"], hint="try")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and copy.diagnostic == error.diagnostic and str(copy) == "title\n  fact\nhint: try"
