"""`inspect` on files that somebody made up: damaged, exit code 2, soon, and without commands for the terminal."""

from __future__ import annotations

import json
import lzma
import re
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Call

from aotensor.codegen.container import seal
from aotensor_runtime import abi
from aotensor_runtime.container import Container

CONTROL = re.compile(r"[^\n\t\x20-\x7e\u00a0-\u10ffff]|[\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


def replaced(data: bytes, section: str, content: bytes) -> bytes:
    """A library whose section has another content of at most the same length, with a checksum that fits."""
    place = Container(data).image.sections[section]
    assert len(content) <= place.size
    filled = content.ljust(place.size, b"\0")
    return seal(data[: place.offset] + filled + data[place.offset + place.size :])


def extra(data: bytes, name: str, content: bytes, **options: Any) -> bytes:
    packed = lzma.compress(content, check=lzma.CHECK_NONE, **options)
    return replaced(data, abi.EXTRA_SECTION_PREFIX + name, packed)


def with_manifest(data: bytes, change: Callable[[Any], object]) -> bytes:
    place = Container(data).image.sections[abi.MANIFEST_SECTION]
    tree = json.loads(data[place.offset : place.offset + place.size].rstrip(b"\0"))
    change(tree)
    return replaced(data, abi.MANIFEST_SECTION, json.dumps(tree, separators=(",", ":")).encode())


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "a flipped bit": (
        lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :],
        "the checksum does not match",
    ),
    "IR that is no UTF-8": (lambda data: extra(data, "ir.loops", b"\xff\xfe\xfd"), "section ir.loops is damaged"),
    "deep JSON": (lambda data: extra(data, "passes", b"[" * 20_000), "section passes is damaged"),
    "JSON of another kind": (lambda data: extra(data, "passes", b'{"a":1}'), "section passes is damaged"),
    "rows of another kind": (lambda data: extra(data, "passes", b'[["a","b","c"]]'), "section passes is damaged"),
    "work of another kind": (lambda data: extra(data, "work", b'{"logistic":1}'), "section work is damaged"),
    "work that is a list": (lambda data: extra(data, "work", b'["logistic"]'), "section work is damaged"),
    "remarks that are none": (lambda data: extra(data, "remarks", b'[["fuse"]]'), "section remarks is damaged"),
    "remarks in deep JSON": (lambda data: extra(data, "remarks", b"[" * 20_000), "section remarks is damaged"),
    "no stream": (lambda data: replaced(data, ".aotensor.x.ir.graph", b"hello"), "section ir.graph is damaged"),
    "a stream without end": (
        lambda data: replaced(data, ".aotensor.x.ir.tensor", lzma.compress(bytes(range(256)))[:90]),
        "section ir.tensor is damaged",
    ),
    "a bomb": (
        lambda data: replaced(data, ".aotensor.x.ir.loops", lzma.compress(bytes((1 << 26) + 1), preset=0)[:1000]),
        "section ir.loops",
    ),
    "a large dictionary": (
        lambda data: extra(data, "ir.graph", b"hello", filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}]),
        "section ir.graph is damaged",
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_and_the_rest_is_shown(call: Call, library: Path, tmp_path: Path, damage: str) -> None:
    change, text = DAMAGES[damage]
    path = tmp_path / "libbad.so"
    path.write_bytes(change(library.read_bytes()))
    start = time.process_time()
    answer = call("inspect", path)
    assert answer.code == 2, answer.err
    assert f"error: {path}: {text}" in answer.err and "Traceback" not in answer.err
    assert "logistic(X: float64[n, p]" in answer.out and "DAMAGED" in answer.out
    assert time.process_time() - start < 60


def test_damage_as_data(call: Call, library: Path, tmp_path: Path) -> None:
    path = tmp_path / "libbad.so"
    path.write_bytes(extra(library.read_bytes(), "passes", b"[]]"))
    answer = call("inspect", path, "--json")
    tree = json.loads(answer.out)
    assert answer.code == 2 and tree["name"] == "logistic"
    assert tree["damages"] == ["section passes is damaged: it is not JSON"]


def test_bombs_are_not_unpacked(call: Call, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A section that unpacks to more than the limit: here the limit is lowered, so that the test is quick."""
    monkeypatch.setattr("aotensor_runtime.container.MAX_SECTION_BYTES", 1000)
    answer = call("inspect", library)
    assert answer.code == 2 and "holds more than 1000 bytes" in answer.err


UGLY = "\x1b[31mred\x1b]0;title\x07\x9b2J\u202eabc"


@pytest.mark.parametrize("stage", [None, "graph", "loops"])
def test_no_control_characters_reach_the_terminal(call: Call, library: Path, tmp_path: Path, stage: str | None) -> None:
    def change(tree: Any) -> None:
        for function in tree["functions"]:
            function["doc"] = function["source"] = ""
            for check in function["checks"]:
                check["message"] = UGLY
        tree["cpu"], tree["features"] = UGLY, ""

    data = with_manifest(library.read_bytes(), change)
    path = tmp_path / "libugly.so"
    remark = json.dumps([["fuse", "applied", UGLY, UGLY, UGLY, UGLY, 1, UGLY, "", 1]]).encode()
    data = extra(data, "remarks", remark)
    path.write_bytes(extra(extra(data, "ir.graph", UGLY.encode()), "ir.loops", UGLY.encode()))
    shown = call("inspect", path, "--remarks") if stage is None else None
    assert shown is None or CONTROL.search(shown.out + shown.err) is None
    for command in ("inspect", "verify", "run"):
        if command == "inspect" or stage is None:
            answer = call(command, path, *(("--stage", stage) if stage else ()))
            assert CONTROL.search(answer.out + answer.err) is None
            assert answer.code != 70
    if stage is not None:
        assert "\\x1b[31mred" in call("inspect", path, "--stage", stage).out


def test_names_on_the_command_line_are_shown_harmless(call: Call, tmp_path: Path) -> None:
    answer = call("inspect", tmp_path / f"{UGLY}.so")
    assert answer.code == 2 and CONTROL.search(answer.err) is None
    assert CONTROL.search(call(UGLY).err) is None


def test_tables_that_lie(library: Path, call: Call, tmp_path: Path) -> None:
    """Counts, offsets and sizes of headers, each with its largest values: an error, never a bug of ours."""
    data = library.read_bytes()
    table, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    fields = [(32, 8), (40, 8), (54, 2), (56, 2), (58, 2), (60, 2), (62, 2)]
    fields += [(table + 64 * k + at, size) for k in range(1, count) for at, size in ((0, 4), (24, 8), (32, 8))]
    path = tmp_path / "libbad.so"
    for at, size in fields:
        for value in (0, 1 << 8 * size - 1, (1 << 8 * size) - 1):
            changed = bytearray(data)
            changed[at : at + size] = value.to_bytes(size, "little")
            path.write_bytes(changed)
            answer = call("inspect", path, "--stage", "graph")
            assert answer.code in (0, 2), answer.err


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("model.h", b"#ifndef AOTENSOR_H\n#define AOTENSOR_H\n", "a C header"),
        ("header", b"#ifndef AOTENSOR_H\n#define AOTENSOR_H\n", "a C header"),
        ("notes.txt", b"hello\n", "a text"),
        ("model.loops.mlir", b"builtin.module {}\n", "MLIR"),
        ("libmodel.a", b"!<arch>\n", "a static archive"),
        ("x.npy", b"\x93NUMPY\x01", "data of NumPy"),
        ("x.zip", b"PK\x03\x04", "a zip file"),
        ("model.d", b"a: b\n", "a Makefile rule"),
    ],
)
@pytest.mark.parametrize("command", ["inspect", "verify", "compile", "run"])
def test_other_files_are_named(call: Call, tmp_path: Path, name: str, content: bytes, kind: str, command: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    answer = call(command, path)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.splitlines()[0] == f"error: {path}: this is {kind}, neither a model nor a library"
