"""Libraries for macOS, which nothing here runs: what LLVM's tools read in them."""

from __future__ import annotations

import re

import foreign
import pytest
from foreign import Made

from aotensor.codegen.targets.support import EXECUTED

pytestmark = pytest.mark.needs("zig")


@pytest.mark.parametrize(("triple", "machine"), [("arm64-macos", "ARM64"), ("x86_64-macos", "X86_64")])
def test_files(triple: str, machine: str, made: Made) -> None:
    read = foreign.tool("llvm-objdump-22", "llvm-22")
    assert EXECUTED[triple].startswith("no: ")
    folder = made(triple, "strict")
    head = foreign.run([read, "--macho", "--private-headers", "libmodel.dylib"], folder)
    assert re.search(rf"MH_MAGIC_64\s+{machine}\s+ALL\s+0x00\s+DYLIB", head)
    assert "name @rpath/libmodel.dylib" in head and re.search(r"minos 13\.0", head)
    assert set(re.findall(r"name (/\S+)", head)) - {"/usr/lib/dyld"} == {"/usr/lib/libSystem.B.dylib"}
    assert ("LC_CODE_SIGNATURE" in head) or triple.startswith("x86_64"), "Apple's processors run signed code only"
    exported = set(
        re.findall(r"0x\S+\s+_(\w+)", foreign.run([read, "--macho", "--exports-trie", "libmodel.dylib"], folder))
    )
    header = (folder / "model.h").read_text()
    ours = {name for name in exported if not name.startswith("_")}
    assert "gradient" in ours and all(f"{name}(" in header for name in ours)
    needed = foreign.run([foreign.tool("llvm-nm-22", "llvm-22"), "-u", "libmodel.dylib"], folder).split()
    known = "_getenv _strtol _getpid _sched_yield _sigfillset _sysconf ___cxa_atexit "
    known += "_malloc _free _aligned_alloc _memcpy _memset _memset_pattern16 _bzero ___bzero dyld_stub_binder"
    threads = {name for name in needed if name.startswith("_pthread_")}
    assert set(needed) - threads <= set(known.split())
    assert {"_pthread_create", "_pthread_join", "_pthread_cond_wait", "_sysconf"} <= set(needed), "loops have a pool"
    assert "model.o" in foreign.run([foreign.tool("llvm-ar-22", "llvm-22"), "t", "libmodel.a"], folder)
    if triple.startswith("arm64"):
        linked = foreign.compiled("aarch64-macos.13.0", folder, "libmodel.a", name="whole")
        assert linked.stat().st_size > 10_000, "zig's linker reads the static library"
