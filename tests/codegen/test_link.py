"""Linking: every linker that is here, what it exports, archives, failures that leave nothing behind."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from entry_harness import handmade_library, small, small_library

from aotensor.codegen.container import seal
from aotensor.codegen.library import Library, write_library
from aotensor.codegen.machine import Machine
from aotensor.codegen.targets import linker as linking
from aotensor.codegen.targets.archive import archive
from aotensor.codegen.targets.link import link, version_script
from aotensor.codegen.targets.linker import Linker, _gnu_triple, elf_arguments, find_linkers, is_native_triple
from aotensor.errors import ToolError, UnsupportedError
from aotensor_runtime.abi import ABI_VERSION

TRIPLE = Machine.host().triple


@pytest.fixture(scope="module")
def library() -> Library:
    return handmade_library()


def _link(library: Library, linkers: list[Linker]) -> bytes:
    return link(library.objects, triple=TRIPLE, name=library.soname, exported=library.exported, linkers=linkers).library


@pytest.mark.parametrize("name", ["cc", "clang", "ld.lld", "ld", "ziglang"])
def test_every_linker(library: Library, name: str, tmp_path: Path) -> None:
    linkers = [linker for linker in find_linkers(TRIPLE) if linker.name == name]
    if not linkers:
        pytest.skip(f"{name} is not installed")
    first = seal(_link(library, linkers))
    assert first == seal(_link(library, linkers))
    path = tmp_path / "x.so"
    path.write_bytes(first)
    dll = ctypes.CDLL(str(path))
    assert dll.aotensor_abi_version() == ABI_VERSION and dll.plus_call(None, None, None) == 1


def test_linkers_have_a_cache_where_there_is_no_home(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ziglang stops without one; the test's linker fails with the folder as its message."""
    program = "import os, sys; sys.exit('cache: ' + os.environ.get('ZIG_GLOBAL_CACHE_DIR', 'its own'))"
    linkers = [Linker("ziglang", (sys.executable, "-c", program), elf_arguments(True))]
    monkeypatch.setenv("AOTENSOR_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("ZIG_GLOBAL_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ToolError, match="cache: its own"):
        _link(library, linkers)
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ToolError, match=f"cache: {tmp_path}/zig"):
        _link(library, linkers)


@pytest.mark.skipif(shutil.which("nm") is None, reason="nm is not installed")
def test_exports_and_needs(library: Library, tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(library.shared())
    said = subprocess.run(["nm", "-D", str(path)], check=True, capture_output=True, text=True).stdout.split("\n")
    defined = {line.split()[-1] for line in said if " T " in line or " D " in line or " B " in line}
    assert defined == set(library.exported)
    needed = {line.split()[-1].split("@")[0] for line in said if " U " in line}
    assert needed <= {"malloc", "free", "memcpy", "memset", "snprintf"}


@pytest.mark.skipif(shutil.which("ar") is None, reason="ar is not installed")
@pytest.mark.parametrize("member", ["short.o", "a_rather_long_member_name.o"])
def test_archive(library: Library, member: str, tmp_path: Path) -> None:
    path = tmp_path / "x.a"
    path.write_bytes(archive(library.object_code, member=member, exported=library.exported))
    run = {"check": True, "capture_output": True, "cwd": tmp_path}
    assert subprocess.run(["ar", "t", "x.a"], **run).stdout == member.encode() + b"\n"
    assert subprocess.run(["ar", "p", "x.a", member], **run).stdout == library.object_code
    index = subprocess.run(["nm", "--print-armap", "x.a"], **run).stdout.decode()
    assert all(f"{name} in {member}" in index for name in library.exported)


def test_version_script() -> None:
    assert version_script(["a", "b"]) == "{\n  global:\n    a;\n    b;\n  local: *;\n};\n"


def test_no_linker(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(linking.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ToolError) as caught:
        library.shared()
    assert str(caught.value) == (
        f"no linker for {TRIPLE} was found\n  looked for: cc, clang, ld.lld, ld, ziglang\n"
        "hint: install a C compiler (Debian: gcc, Fedora: gcc, conda: gcc) or `pip install ziglang`"
    )


def test_failing_linker(library: Library, tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    bad.write_text("#!/bin/sh\necho 'bad: cannot find -lm' >&2\nexit 3\n")
    bad.chmod(0o755)
    with pytest.raises(ToolError, match="the linker bad failed") as caught:
        _link(library, [Linker("bad", (str(bad),), elf_arguments(True, ("-lm",)))])
    assert caught.value.stderr == "bad: cannot find -lm\n" and caught.value.command[0] == str(bad)
    with pytest.raises(ToolError, match="the linker gone could not be started"):
        _link(library, [Linker("gone", (str(tmp_path / "gone"),), elf_arguments(True))])


def test_undefined_symbols_are_refused(tmp_path: Path) -> None:
    if not find_linkers(TRIPLE):
        pytest.skip("no linker")
    h = small()
    from aotensor.codegen.entry.code import Code
    from aotensor.codegen.llvm import function, i32

    code = Code(h.module, "user", i32, [], exported=True)
    code.ret(code.builder.call(function(h.module, "nowhere_to_be_found", i32, []), []))
    with pytest.raises(ToolError) as caught:
        h.library().shared()
    assert "nowhere_to_be_found" in caught.value.stderr


def test_other_targets() -> None:
    assert is_native_triple(TRIPLE) and not is_native_triple("riscv64-unknown-linux-gnu")
    other = TRIPLE.replace("musl", "gnu") if "musl" in TRIPLE else TRIPLE.replace("gnu", "musl")
    assert other != TRIPLE and not is_native_triple(other), "another C library is another system"
    assert {linker.name for linker in find_linkers(other)} <= {"clang", "ziglang", f"{_gnu_triple(other)}-gcc"}
    assert all(linker.name != "cc" for linker in find_linkers("riscv64-unknown-linux-gnu"))
    for triple in ("x86_64-freebsd", "aarch64-pc-windows-gnu", "x86_64-pc-windows-msvc"):
        with pytest.raises(UnsupportedError, match=f"shared libraries for {triple} are not"):
            link([b""], triple=triple, name="x", exported=())


def test_clang_and_ziglang_get_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(linking.importlib.util, "find_spec", lambda name: object())
    names = [(linker.name, linker.command) for linker in find_linkers("riscv64-unknown-linux-gnu")]
    assert names == [
        ("riscv64-linux-gnu-gcc", ("/bin/riscv64-linux-gnu-gcc",)),
        ("clang", ("/bin/clang", "--target=riscv64-unknown-linux-gnu")),
        ("ziglang", (sys.executable, "-m", "ziglang", "cc", "-target", "riscv64-linux-gnu", "-O2")),
    ]


def test_clang_without_a_linker_for_the_machine_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}" if name in ("clang", "ld", "ld.lld") else None)
    monkeypatch.setattr(linking.importlib.util, "find_spec", lambda name: object())
    assert [linker.name for linker in find_linkers("riscv64-unknown-linux-gnu")] == ["ziglang"]
    assert [linker.name for linker in find_linkers(TRIPLE)][:1] == ["clang"]


@pytest.mark.parametrize("name", ["a,b", "with blank", "süß-日本", "-Wl,-e,x", "quote'\"$HOME"])
def test_folder_names_do_not_reach_the_linker(
    library: Library, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drivers split what follows -Wl at commas, and shells split at blanks."""
    expected = _link(library, list(find_linkers(TRIPLE)))
    folder = tmp_path / name
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    assert _link(library, list(find_linkers(TRIPLE))) == expected
    assert not list(folder.iterdir())


def test_nothing_is_written_when_the_link_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aotensor.codegen.library.link", lambda *_, **__: (_ for _ in ()).throw(ToolError("no")))
    with pytest.raises(ToolError):
        write_library(small_library(), tmp_path)
    assert not os.listdir(tmp_path)


def test_unwritable_folder(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        write_library(small_library(), tmp_path / "missing")


def test_a_linker_without_room(library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is named, whether the linker prints why it failed or the system ends it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for script in ("echo 'final link failed: No space left on device' >&2; exit 1", "kill -XFSZ $$"):
        bad = tmp_path / "bad"
        bad.write_text(f"#!/bin/sh\n{script}\n")
        bad.chmod(0o755)
        with pytest.raises(ToolError, match=f"the linker bad could not write to the temporary folder {tmp_path}$"):
            try:
                _link(library, [Linker("bad", (str(bad),), elf_arguments(True))])
            except ToolError as error:
                raise ToolError(error.diagnostic.title) from error
