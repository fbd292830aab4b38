"""What is said of a library on machines that this is not: the machine is given, the files are made by hand."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Final

import pytest

from aotensor_runtime.errors import DamagedLibrary, UnsupportedMachine
from aotensor_runtime.formats.macho import MachFile
from aotensor_runtime.formats.pe import PeFile
from aotensor_runtime.machine import Here, check_architecture, check_features, cpu_flags, this_machine
from aotensor_runtime.manifest import Manifest
from aotensor_runtime.systems import here, processors
from aotensor_runtime.systems.processors import Flags, flags_of_numpy

WINDOWS, MAC, ARM_MAC = Here("Windows", "x86-64"), Here("macOS", "x86-64"), Here("macOS", "AArch64", version=(14, 5))
V3: Final = frozenset(
    {"ssse3", "sse4_1", "sse4_2", "popcnt", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}
)
ON_MAC: Final = "this machine is macOS on x86-64; compile for it: aotensor compile MODEL --target x86_64-macos"
ON_ARM_MAC: Final = "this machine is macOS on AArch64; compile for it: aotensor compile MODEL --target arm64-macos"
ON_WINDOWS: Final = (
    "this machine is Windows on x86-64; compile for it: aotensor compile MODEL --target x86_64-windows-gnu"
)
OLDER: Final = "compile for this machine: aotensor compile MODEL --target arm64-apple-macosx14.5"
ON_X86: Final = "this machine is Windows on x86"
BUILD, OLDEST = 0x32, 0x24
X86, ARM = 0x01000007, 0x0100000C


def dylib(processor: int, command: int = BUILD, oldest: tuple[int, int] = (13, 0), size: int = 24) -> MachFile:
    """A library for macOS with one load command."""
    word = oldest[0] << 16 | oldest[1] << 8
    told = struct.pack("<II", 1, word) if command == BUILD else struct.pack("<II", word, 0)
    commands = (struct.pack("<II", command, size) + told + bytes(8))[:size]
    return MachFile(struct.pack("<4sIIIIIII", b"\xcf\xfa\xed\xfe", processor, 0, 6, 1, len(commands), 0, 0) + commands)


def dll(machine: int = 0x8664) -> PeFile:
    """A library for Windows without sections."""
    start, optional = b"MZ" + bytes(58) + (64).to_bytes(4, "little"), b"\x0b\x02" + bytes(238)
    head = b"PE\0\0" + struct.pack("<HHIIIHH", machine, 0, 0, 0, 0, len(optional), 0x2000)
    return PeFile(start + head + optional)


def test_what_fits() -> None:
    check_architecture(dll(), WINDOWS)
    check_architecture(dylib(X86), MAC)
    check_architecture(dylib(ARM), ARM_MAC)
    check_architecture(dylib(ARM, OLDEST, (11, 0), 16), ARM_MAC)


@pytest.mark.parametrize(
    ("image", "machine", "said", "hint"),
    [
        (dylib(ARM), MAC, "the library is for AArch64, but this machine is x86-64", ON_MAC),
        (dll(), ARM_MAC, "the library is for Windows on x86-64, not for this machine", ON_ARM_MAC),
        (dylib(X86), WINDOWS, "the library is for macOS on x86-64, not for this machine", ON_WINDOWS),
        (dll(), Here("Windows", "x86"), "the library is for x86-64, but this machine is x86", ON_X86),
        (dll(0xAA64), WINDOWS, "the library is for AArch64, but this machine is x86-64", ON_WINDOWS),
        (dylib(ARM, oldest=(15, 2)), ARM_MAC, "the library is for macOS 15.2 and later, but this is macOS 14.5", OLDER),
    ],
)  # fmt: skip
def test_what_does_not(image: MachFile | PeFile, machine: Here, said: str, hint: str) -> None:
    with pytest.raises(UnsupportedMachine) as caught:
        check_architecture(image, machine)
    assert str(caught.value) == f"{said}\nhint: {hint}"


def test_a_library_that_does_not_say_for_which_macos() -> None:
    assert dylib(X86, OLDEST, (10, 15), 16).oldest == (10, 15)
    for image in (dylib(X86, command=0x1B), dylib(ARM, size=8)):
        with pytest.raises(DamagedLibrary, match="does not state its version of macOS"):
            check_architecture(image, ARM_MAC if image.machine == 183 else replace(MAC, version=(14, 5)))


@pytest.mark.parametrize(
    ("flags", "missing"),
    [
        (Flags(), None),
        (Flags(frozenset({"avx", "avx2"})), None),
        (Flags(frozenset({"avx"}), frozenset({"avx2", "fma"})), "avx2, fma"),
        (Flags(V3 - {"movbe"}, is_whole=True), "movbe"),
    ],
)
def test_features_that_are_certainly_not_there(flags: Flags, missing: str | None) -> None:
    """What cannot be told lets a library pass."""
    manifest = Manifest("m", "0.1.0", 2, "20", "x86_64-pc-windows-gnu", "x86-64-v3", "", "strict", ())
    if missing is None:
        check_features(manifest, 62, replace(WINDOWS, flags=flags))
        return
    with pytest.raises(UnsupportedMachine, match=f"CPU features that this machine lacks: {missing}\n"):
        check_features(manifest, 62, replace(WINDOWS, flags=flags))


def test_numpy_and_the_system_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system has a list, NumPy's is a part of it, and nothing that it denies is on it."""
    told = flags_of_numpy()
    if here.NAME == "Linux" and this_machine().flags.is_whole:
        assert told.present <= cpu_flags() and not told.absent & cpu_flags()
    monkeypatch.setattr(processors.importlib, "import_module", lambda name: object())
    assert flags_of_numpy() == Flags(), "a NumPy that does not tell"
