"""Parts of libraries that are compiled once: the same bytes whether they were kept, damaged or cannot be kept."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
import aotensor_runtime
from aotensor.codegen.machine import Machine
from aotensor.codegen.parts import Part, compile_part, core_part
from aotensor.driver.build import Build
from aotensor.driver.folder import compiler_identity
from aotensor.driver.part_store import stored_part
from aotensor.driver.recipe import Options


def product() -> aot.Function:
    """A function that needs the core and the kernels of products."""
    a, b = (at.matrix(name, shape=("n", "n")) for name in "ab")
    return aot.function([a, b], a @ b, name="product")


def library_bytes(folder: Path) -> bytes:
    return aot.compile(product(), folder).library.read_bytes()


def test_kept_damaged_and_missing_parts_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AOTENSOR_CACHE_DIR", str(tmp_path / "cache"))
    first = library_bytes(tmp_path)
    parts = sorted((tmp_path / "cache" / "parts").iterdir())
    assert len(parts) == 2  # core, products of float64
    contents = [part.read_bytes() for part in parts]
    assert library_bytes(tmp_path) == first
    parts[0].write_bytes(contents[0][:-1])
    parts[1].write_bytes(b"")
    assert library_bytes(tmp_path) == first
    assert [part.read_bytes() for part in parts] == contents
    (tmp_path / "file").touch()
    monkeypatch.setenv("AOTENSOR_CACHE_DIR", str(tmp_path / "file" / "below"))  # cannot be made
    assert library_bytes(tmp_path) == first


def test_a_kept_part_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AOTENSOR_CACHE_DIR", str(tmp_path))
    made: list[Machine] = []

    def make(machine: Machine) -> object:
        made.append(machine)
        return core_part("", True).make(machine)

    host, older = Machine.host(), Machine.parse(cpu="generic")
    part = Part("counted", make)
    assert stored_part(part, host) == stored_part(part, host) == compile_part(core_part("", True), host)
    assert made == [host]
    assert stored_part(part, older) == compile_part(core_part("", True), older)  # another machine, another object
    assert made == [host, older]


def test_one_object_holds_what_the_parts_hold(tmp_path: Path) -> None:
    """A static archive has everything in one member, in which only the exported symbols can be seen."""
    build = Build([product()], None, Options())
    library = build.library
    functions = {f.name: f for f in library.optimised.functions if not f.is_declaration}
    visible = {name for name, f in functions.items() if f.linkage.name != "internal"}
    assert visible == set(library.exported)
    assert {"entry.uniform", "entry.typed"} <= set(functions) and "malloc" not in functions
    matrix = np.arange(9.0).reshape(3, 3)
    assert np.array_equal(aot.compile(product(), tmp_path).load().product(matrix, matrix), matrix @ matrix)


def test_entries_that_describe_a_library_are_in_the_core() -> None:
    """Each library has the data that they read, and entries of its own name."""
    program = Build([product()], None, Options()).library.program
    defined = re.findall(r'^define [^@\n]*@"(aotensor_\w+)"', program, re.MULTILINE)
    assert sorted(defined) == ["aotensor_check_message_product", "aotensor_manifest_product"]


def test_the_compiler_is_known_by_all_of_its_sources() -> None:
    package = Path(aot.__file__).parent
    files = [*package.rglob("*.py"), *Path(aotensor_runtime.__file__).parent.rglob("*.py")]
    expected = [f"{x.name} {x.stat().st_size} {x.stat().st_mtime_ns}" for x in files]
    assert set(expected) <= set(compiler_identity().splitlines())
