"""What is said of targets that there are not, linkers that fail, and libraries on the wrong machine: one sentence."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import pytest
from foreign import Made

import aotensor as aot
from aotensor.codegen.targets import linker
from aotensor.codegen.targets.linker import Linker
from aotensor.codegen.targets.systems import canonical, system_of
from aotensor.codegen.targets.triples import TARGETS
from aotensor.errors import GraphValueError, ToolError, UnsupportedError
from aotensor_runtime import load
from aotensor_runtime.errors import ForeignLibrary, UnsupportedMachine

is_debian_here = sys.platform == "linux" and platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"
HERE = "this machine is Linux on x86-64 with glibc; compile for it: aotensor compile MODEL --target x86_64-linux-gnu"
needs_glibc = pytest.mark.skipif(not is_debian_here, reason="the messages are those of x86-64 Linux with glibc")


def simple() -> aot.Function:
    x = aot.tensor.vector("x", dtype="float64")
    return aot.function([x], x + 1, name="f")


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"target": "soup"}, "target soup is not known to LLVM", "libraries are made for x86_64-linux-gnu, "),
        ({"target": "aarch64-lunix-gnu"}, "target aarch64-lunix-gnu: unknown system gnu", "did you mean aarch64"),
        ({"target": "aarch64-linux-muls"}, "target aarch64-linux-muls: unknown C library muls", "did you"),
        ({"target": "x86_64-beos"}, "target x86_64-beos: unknown system beos", "did you mean x86_64-macos"),
        ({"target": "x86_64-freebsd"}, "shared libraries for x86_64-freebsd are not supported", "emit an object file"),
        ({"target": "x86_64-windows-msvc"}, "shared libraries for x86_64-pc-windows-msvc are not", "use x86_64-w"),
        ({"target": "i686-linux-gnu"}, "i686-linux-gnu has 32-bit pointers", "use wasm32-wasi"),
        ({"target": "s390x-linux-gnu"}, "target s390x-linux-gnu is big-endian", "only little-endian"),
        ({"target": "wasm32-wasi", "cpu": "host"}, "cpu host is the CPU of this machine, which cannot", "use generic"),
        ({"target": "riscv64-linux-gnu", "cpu": "haswell"}, "cpu haswell is unknown for riscv64-linux-gnu", "there"),
        ({"cpu": "native"}, "cpu native is unknown for", "did you mean host?"),
        ({"features": "-sse2"}, "cpu features '-sse2': -sse2 would change the calling convention", "leave out -sse2"),
        ({"target": "riscv64-linux-gnu", "features": "-d,-f"}, "cpu features '-d,-f': -d and -f would change", "leave"),
        ({"target": "x86_64-linux-gnu", "cpu": ""}, "the name of the target or CPU is empty", "leave it out"),
        ({"cpu": "x86-64-v5"}, "cpu x86-64-v5 is unknown for", "did you mean x86-64-v"),
        ({"features": "+avx9"}, "cpu feature +avx9 is unknown for", "did you mean avx"),
        ({"features": "avx2"}, "cpu features 'avx2' are not understood", "write them as +avx2,-fma"),
    ],
)  # fmt: skip
def test_targets(options: dict[str, str], message: str, hint: str, tmp_path: Path) -> None:
    if "target" not in options and not is_debian_here:
        pytest.skip("the names are those of x86-64")
    with pytest.raises((UnsupportedError, GraphValueError)) as caught:
        aot.compile(simple(), tmp_path / "out", **options)  # type: ignore[arg-type]
    title, _, rest = str(caught.value).partition("\n")
    assert title.startswith(message) and rest.startswith(f"hint: {hint}" if hint else "")
    assert not (tmp_path / "out").exists() or not os.listdir(tmp_path / "out")


def test_every_target_has_a_system() -> None:
    assert [system_of(canonical(name)).name for name in TARGETS] == [
        *["Linux"] * 6,
        "Windows",
        "macOS",
        "macOS",
        "WebAssembly",
    ]
    assert canonical("aarch64-macos") == canonical("arm64-macos") == "arm64-apple-macosx13.0"
    assert canonical("x86_64-w64-mingw32") == canonical("x86_64-windows-gnu") == "x86_64-pc-windows-gnu"


@pytest.mark.parametrize("target", ["aarch64-linux-gnu", "x86_64-windows-gnu", "arm64-macos", "wasm32-wasi"])
def test_linkers(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A linker that is not there, and one that fails, leave no file."""
    monkeypatch.setattr(linker, "_has_zig", lambda: False)
    monkeypatch.setattr(linker.shutil, "which", lambda name: None)
    with pytest.raises(ToolError, match=f"no linker for {canonical(target)} was found") as missing:
        aot.compile(simple(), tmp_path, target=target, emit=("static", "lib"))
    assert str(missing.value).endswith("hint: pip install 'aotensor[cross]', whose ziglang links for every target")
    bad = Linker("bad", (sys.executable, "-c", "raise SystemExit('bad: no room')"), lambda order: [])
    monkeypatch.setattr("aotensor.codegen.targets.link.find_linkers", lambda triple: [bad])
    with pytest.raises(ToolError, match="the linker bad failed") as failed:
        aot.compile(simple(), tmp_path, target=target, emit=("static", "lib"))
    assert failed.value.stderr == "bad: no room\n" and os.listdir(tmp_path) == []


@needs_glibc
@pytest.mark.parametrize(
    ("target", "file", "message"),
    [
        ("aarch64-linux-gnu", "libmodel.so", "the library is for AArch64, but this machine is x86-64"),
        ("x86_64-linux-musl", "libmodel.so", "the library is for Linux with musl, but this process has glibc"),
        ("x86_64-windows-gnu", "model.dll", "the library is for Windows on x86-64, not for this machine"),
        ("arm64-macos", "libmodel.dylib", "the library is for macOS on AArch64, not for this machine"),
        ("wasm32-wasi", "model.wasm", "the library is for WebAssembly, not for this machine"),
    ],
)
def test_loading(target: str, file: str, message: str, made: Made, tmp_path: Path) -> None:
    if "musl" in target:
        path = aot.compile(simple(), tmp_path, target=target, cpu="generic").library
    else:
        path = made(target, "strict") / file
    with pytest.raises((ForeignLibrary, UnsupportedMachine)) as caught:
        load(path)
    assert str(caught.value) == f"{path}: {message}\nhint: {HERE}"


def test_windows_has_the_memory_that_code_asks_for() -> None:
    """Direct sparse solutions let buffers grow; zeroed memory is what LLVM makes of malloc and memset."""
    from aotensor.codegen.calls.memory import _SIZES
    from aotensor.codegen.targets.link import _C_LIBRARY

    assert {*_SIZES, "calloc"} - {"aligned_alloc"} <= {*_C_LIBRARY[1]}


def test_javascript_has_no_complex_arrays(tmp_path: Path) -> None:
    z = aot.tensor.vector("z", dtype="complex128")
    with pytest.raises(UnsupportedError, match="f: z is complex128, and JavaScript does not have arrays of it"):
        aot.compile(aot.function([z], z + 1, name="f"), tmp_path / "out", target="wasm32-wasi")
    assert not (tmp_path / "out").exists()


def test_prefixes_begin_symbols(tmp_path: Path) -> None:
    with pytest.raises(GraphValueError, match="prefix '1-x' cannot begin a C identifier"):
        aot.compile(simple(), tmp_path / "out", prefix="1-x")
    assert not (tmp_path / "out").exists()
