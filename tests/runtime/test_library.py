"""Opening libraries: what is refused and how it is said; pickling, threads, replaced files, lazy imports."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from entry_harness import handmade, small, small_library

import aotensor_runtime as runtime
from aotensor.codegen.container import seal
from aotensor.codegen.library import write_library
from aotensor.codegen.machine import Machine
from aotensor_runtime import abi
from aotensor_runtime.library import read


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


def test_missing_and_unreadable(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file") as caught:
        runtime.load(tmp_path / "nothing.so")
    assert isinstance(caught.value, runtime.LibraryNotFound)
    with pytest.raises(runtime.LibraryError, match="cannot be read"):
        runtime.load(tmp_path)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "not an ELF file"),
        (b"hello", "not an ELF file"),
        (b"MZ" + bytes(100), "not an ELF file"),
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


def test_changed_bytes_never_load(built: tuple[Path, Path], rng: np.random.Generator) -> None:
    """Every single change is either refused, or lies where nothing is loaded from and everything reads the same."""
    data = built[0].read_bytes()
    whole = read(data)
    sections = {name: whole.extra(name) for name in whole.extra_names()}
    refused = 0
    for place in [*range(64), *rng.integers(64, len(data), 400)]:
        changed = bytearray(data)
        changed[place] ^= 1 << int(rng.integers(8))
        try:
            container = read(bytes(changed))
            assert container.manifest() == whole.manifest()
            assert container.computed_checksum() == whole.computed_checksum()
            names = [name for name in container.extra_names() if name in sections]
            assert all(container.extra(name) == sections[name] for name in names)
        except runtime.LibraryError:
            refused += 1
    assert refused > 300


def test_code_and_data_are_checked(built: tuple[Path, Path], tmp_path: Path) -> None:
    data = bytearray(built[0].read_bytes())
    place = read(bytes(data)).elf.sections[".text"]
    data[place.offset + place.size // 2] ^= 1
    path = tmp_path / "x.so"
    path.write_bytes(data)
    with pytest.raises(runtime.DamagedLibrary, match=f"^{path}: the checksum does not fit"):
        runtime.load(path)


def _with_manifest(data: bytes, old: bytes, new: bytes) -> bytes:
    assert len(old) == len(new) and old in data
    return seal(data.replace(old, new))


def test_too_new(built: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(_with_manifest(built[0].read_bytes(), b'"abi":1,', b'"abi":9,'))
    with pytest.raises(runtime.TooNewLibrary, match=f"ABI version 9, this runtime knows {abi.ABI_VERSION}"):
        runtime.load(path)
    data = bytearray(built[0].read_bytes())
    section = read(bytes(data)).elf.sections[abi.CHECKSUM_SECTION]
    data[section.offset + 6] = 2
    path.write_bytes(data)
    with pytest.raises(runtime.TooNewLibrary, match="a later aotensor built this library"):
        runtime.load(path)


def test_broken_manifest(built: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(_with_manifest(built[0].read_bytes(), b'"dtype":"float32"', b'"dtype":"float99"'))
    with pytest.raises(runtime.DamagedLibrary, match="unknown dtype 'float99'"):
        runtime.load(path)


def test_errors_pickle() -> None:
    error = runtime.ArgumentIndexError("title", lines=["fact"], hint="try")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and copy.diagnostic == error.diagnostic and str(copy) == "title\n  fact\nhint: try"
