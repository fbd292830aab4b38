"""Object file → shared library or static archive, by the first linker that is installed; same bytes every time.

    cc → clang → ld.lld → ld → the PyPI package ziglang

A linked library exports what it is told to, needs libc and libm at most, and carries no build id and no timestamp.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aotensor.errors import ToolError, UnsupportedError

_FLAGS: Final = (
    "--build-id=none", "--gc-sections", "--as-needed", "--no-undefined", "--hash-style=gnu",
    "-z", "noexecstack", "-z", "relro", "-z", "now",
)  # fmt: skip
_STRIP: Final = "-s"
_SMALL: Final = ("-z", "noseparate-code")  # fewer pages; lld does without, and zig does not know it

_SCRIPT: Final = "library.map"
_OUTPUT: Final = "library.so"
"""Files of the folder in which the linker runs."""

_HINT: Final = "install a C compiler (Debian: gcc, Fedora: gcc, conda: gcc) or `pip install ziglang`"


@dataclass(frozen=True, slots=True)
class Linker:
    """A program that links.

    command: how it starts. is_driver: a C compiler, which takes linker flags behind -Wl. libraries: libm and libc, and
    where they are. flags: for the linker.
    """

    name: str
    command: tuple[str, ...]
    is_driver: bool
    libraries: tuple[str, ...] = ("-lm", "-lc")
    flags: tuple[str, ...] = _FLAGS + _SMALL

    def arguments(self, sources: Sequence[str], soname: str, keeps_symbols: bool = False) -> tuple[str, ...]:
        """The command that links `sources`.   keeps_symbols: and debug information

        It runs in their folder and names files only, so that nothing in it depends on how the folder is called: drivers
        take what follows -Wl apart at commas.
        """
        flags = [*self.flags, *([] if keeps_symbols else [_STRIP]), f"--version-script={_SCRIPT}", "-soname", soname]
        if self.is_driver:
            flags = ["-nostartfiles", "-nodefaultlibs", *(f"-Wl,{flag}" for flag in flags)]
        return (*self.command, "-shared", "-o", _OUTPUT, *sources, *flags, *self.libraries)


def find_linkers(triple: str) -> tuple[Linker, ...]:
    """The installed linkers for a target, best first; a foreign target leaves those that bring its C library."""
    is_native = is_native_triple(triple)
    found: list[Linker] = []
    for name in ("cc", "clang") if is_native else (f"{_gnu_triple(triple)}-gcc", "clang"):
        path = shutil.which(name)
        if path:
            command = (path,) if is_native or name != "clang" else (path, f"--target={triple}")
            found.append(Linker(name, command, True))
    for name in ("ld.lld", "ld") if is_native else ():
        path = shutil.which(name)
        if path:
            found.append(Linker(name, (path,), False, _system_libraries(triple)))
    if importlib.util.find_spec("ziglang") is not None:
        target = f"{triple.split('-')[0]}-linux-{'musl' if 'musl' in triple else 'gnu'}"
        start = (sys.executable, "-m", "ziglang", "cc", "-target", target)
        found.append(Linker("ziglang", start, True, flags=_FLAGS))
    return tuple(found)


def _system_libraries(triple: str) -> tuple[str, ...]:
    """libm and libc as the dynamic loader finds them: a linker that is no C compiler may not know where they are."""
    folders = (f"/lib/{_gnu_triple(triple)}", "/lib64", "/usr/lib64", "/lib", "/usr/lib")
    names = ("-lm", "-lc") if "musl" in triple else ("-l:libm.so.6", "-l:libc.so.6")
    return (*(f"-L{folder}" for folder in folders if Path(folder).is_dir()), *names)


def is_native_triple(triple: str) -> bool:
    """Is it for the kind of machine and system that this process runs on, with the same C library?"""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    is_system = "linux" in triple and sys.platform.startswith("linux")
    return triple.split("-")[0] == machine and is_system and ("musl" in triple) == (platform.libc_ver()[0] != "glibc")


def link(
    objects: Sequence[bytes], *, triple: str, soname: str, exported: Sequence[str],
    linkers: Sequence[Linker] | None = None, keeps_symbols: bool = False,
) -> bytes:  # fmt: skip
    """The shared library that object files make.

    exported: the symbols that it exports. linkers: to choose from, by default those installed; the first one is used.
    keeps_symbols: those of functions inside, and debug information, which are left out otherwise.

    Raises: ToolError if there is no linker or it fails; UnsupportedError for a target whose files are not ELF.
    """
    if "linux" not in triple:
        raise UnsupportedError(
            f"shared libraries for {triple} are not supported",
            hint="emit an object file or a static archive, and link it there",
        )
    available = find_linkers(triple) if linkers is None else linkers
    if not available:
        raise ToolError(
            f"no linker for {triple} was found", lines=["looked for: cc, clang, ld.lld, ld, ziglang"], hint=_HINT
        )
    with tempfile.TemporaryDirectory(prefix="aotensor-") as name:
        folder = Path(name)
        sources = [f"{number}.o" for number in range(len(objects))]
        for source, code in zip(sources, objects, strict=True):
            (folder / source).write_bytes(code)
        (folder / _SCRIPT).write_text(version_script(exported))
        _run(available[0], available[0].arguments(sources, soname, keeps_symbols), folder)
        return (folder / _OUTPUT).read_bytes()


def version_script(exported: Sequence[str]) -> str:
    """A linker script that exports these symbols and no others."""
    return "{\n  global:\n" + "".join(f"    {name};\n" for name in exported) + "  local: *;\n};\n"


def archive(code: bytes, *, member: str, exported: Sequence[str]) -> bytes:
    """A static archive that holds one object file, with an index of its symbols.

    Source: the System V variant of the `ar` format, as GNU ar writes it with all dates, owners and modes fixed.
    """
    names = b"".join(name.encode() + b"\0" for name in exported)
    long_names = f"{member}/\n".encode() if len(member) > 15 else b""
    index_size = 4 + 4 * len(exported) + len(names)
    first = 8 + _padded(60 + index_size) + (_padded(60 + len(long_names)) if long_names else 0)
    index = struct.pack(f">{1 + len(exported)}I", len(exported), *[first] * len(exported)) + names
    result = b"!<arch>\n" + _member("/", index)
    if long_names:
        result += _member("//", long_names)
    return result + _member("/0" if long_names else f"{member}/", code)


def _member(name: str, content: bytes) -> bytes:
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{'644':<8}{len(content):<10}`\n".encode()
    return (header + content).ljust(_padded(60 + len(content)), b"\n")


def _padded(size: int) -> int:
    """Members start at even offsets."""
    return size + size % 2


def _run(linker: Linker, command: tuple[str, ...], folder: Path) -> None:
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", env=environment, check=False, cwd=folder
        )
    except OSError as error:
        raise ToolError(
            f"the linker {linker.name} could not be started ({error})", command=command, hint=_HINT
        ) from error
    if done.returncode != 0:
        raise ToolError(f"the linker {linker.name} failed", command=command, stderr=done.stderr or done.stdout)


def _gnu_triple(triple: str) -> str:
    """x86_64-unknown-linux-gnu as Debian's cross compilers are named: x86_64-linux-gnu."""
    parts = triple.split("-")
    return "-".join([parts[0], *parts[-2:]])
