"""Libraries for other systems are read, not run: manifest, texts, symbols, checksum; damage is an error, no crash."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from foreign import Made, functions

from aotensor.codegen.container import seal
from aotensor.codegen.targets.linkage import read_linkage
from aotensor.codegen.targets.signature import page_hashes, sign_again
from aotensor.verification.library import verify_library
from aotensor_cli.main import run
from aotensor_cli.reading.describe import describe
from aotensor_runtime.abi import CHECKSUM_SECTION
from aotensor_runtime.container import Container
from aotensor_runtime.errors import DamagedLibrary, ForeignLibrary, LibraryError
from aotensor_runtime.formats.read import read_image

pytestmark = pytest.mark.needs("zig")
FILES = {
    "x86_64-windows-gnu": ("model.dll", "Windows on x86-64", "ucrtbase.dll"),
    "x86_64-macos": ("libmodel.dylib", "macOS on x86-64", "/usr/lib/libSystem.B.dylib"),
    "arm64-macos": ("libmodel.dylib", "macOS on AArch64", "/usr/lib/libSystem.B.dylib"),
    "wasm32-wasi": ("model.wasm", "WebAssembly", ""),
}
each_target = pytest.mark.parametrize("target", list(FILES))


def data_of(made: Made, target: str) -> bytes:
    return (made(target, "strict") / FILES[target][0]).read_bytes()


@each_target
def test_what_it_says(target: str, made: Made, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    name, platform, needed = FILES[target]
    path = made(target, "strict") / name
    assert run(["inspect", str(path), "--json"]) == 0
    tree = json.loads(capfd.readouterr().out)
    assert [x["name"] for x in tree["functions"]] == [f.name for f in functions()] and tree["damages"] == []
    assert needed in [*tree["needed"], ""] and {"gradient", "gradient_workspace"} <= set(tree["symbols"])
    assert ("malloc" in tree["undefined"]) == bool(needed)
    assert run(["verify", str(path)]) == 0
    said = capfd.readouterr().out
    assert f"the library is for {platform}, not for this machine; its test vectors are not run" in said
    assert "checksum of code and data  ok" in said and "failed" not in said
    assert run(["run", f"{path}:gradient"]) == 2
    answer = capfd.readouterr().err
    assert f"the library is for {platform}, not for this machine" in answer and "aotensor compile MODEL" in answer


@each_target
def test_texts_travel_but_to_pages(target: str, made: Made, capfd: pytest.CaptureFixture[str]) -> None:
    path = made(target, "strict") / FILES[target][0]
    code, said = run(["inspect", str(path), "--stage", "loops", "--function", "gradient"]), capfd.readouterr()
    if target == "wasm32-wasi":
        assert code == 2 and "stage loops is not stored in a library" in said.err
    else:
        assert code == 0 and "func.func" in said.out


@each_target
def test_every_change_of_code_is_found(target: str, made: Made) -> None:
    """Also where the file is a valid library otherwise, signed again as Apple's processors want it."""
    data = data_of(made, target)
    container = Container(data)
    hole = container.checksum_section()
    assert hole.offset > 0 and seal(data) == data
    draw, found = random.Random(1), 0
    for _ in range(60):
        changed = bytearray(data)
        changed[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        try:
            again = Container(bytes(changed))
            again.check()
            assert again.manifest() == container.manifest()
        except LibraryError:
            found += 1
            report = describe_or_nothing(bytes(changed))
            assert report is None or report.damages
    assert found > (20 if "macos" in target else 50), "pages of a library for macOS are padded"


def describe_or_nothing(data: bytes) -> object:
    try:
        return describe(data)
    except LibraryError:
        return None


@each_target
def test_cut_anywhere(target: str, made: Made) -> None:
    data = data_of(made, target)
    for size in [*range(0, 600, 7), *range(600, len(data), len(data) // 50)]:
        with pytest.raises((DamagedLibrary, ForeignLibrary)):
            container = Container(data[:size])
            container.check()
            read_linkage(container.image)


@each_target
def test_wild_numbers(target: str, made: Made) -> None:
    """Tables that lead anywhere are errors, within a bounded time."""
    data, draw = data_of(made, target), random.Random(2)
    for _ in range(150):
        changed = bytearray(data)
        at = draw.randrange(min(3000, len(data) - 8))
        changed[at : at + 4] = draw.randbytes(4)
        try:
            image = read_image(bytes(changed))
            read_linkage(image)
            Container(bytes(changed)).check()
        except LibraryError:
            pass


def test_signatures_fit_what_was_sealed(made: Made) -> None:
    data = data_of(made, "arm64-macos")
    hashes = list(page_hashes(data))
    assert len(hashes) > 3 and all(data[at : at + len(x)] == x for at, x in hashes)
    place = read_image(data).sections[CHECKSUM_SECTION].offset
    changed = data[:place] + b"x" + data[place + 1 :]
    assert [x for x in page_hashes(changed) if changed[x[0] : x[0] + len(x[1])] != x[1]]
    signed = sign_again(changed)
    assert all(signed[at : at + len(x)] == x for at, x in page_hashes(signed))
    assert not list(page_hashes(data_of(made, "x86_64-macos")))


def test_other_files_of_the_same_systems(tmp_path: Path) -> None:
    for content, message in (
        (b"MZ" + bytes(100), "this is a DOS or Windows file, but not a library"),
        (b"\xca\xfe\xba\xbe" + bytes(40), "this is a macOS file for several processors"),
        (b"\xcf\xfa\xed\xfe" + bytes(40), "this is a macOS file, but not a library"),
        (b"\0asm\2\0\0\0", "not a WebAssembly module of version 1"),
        (b"\0asm\1\0\0\0", "aotensor did not build this file: it has no manifest"),
    ):
        with pytest.raises(ForeignLibrary, match=message):
            Container(content)


def test_verify_runs_no_vectors_of_another_machine(made: Made) -> None:
    """Not even of a library for Linux: what was skipped is no failure."""
    data = (made("aarch64-linux-gnu", "strict") / "libmodel.so").read_bytes()
    report = verify_library(Path("libmodel.so"), data)
    assert report and [(x.name, x.verdict) for x in report.checks[-1:]] == [("machine", "skipped")]
