"""`aotensor package`: files, bytes that are the same everywhere, and what it refuses without leaving anything."""

from __future__ import annotations

import ast
import json
import os
import shutil
import struct
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from entry_harness import small, small_library
from packaged import Answer, Package, run

import aotensor as aot
import aotensor.tensor as at
from aotensor.codegen.container import seal
from aotensor_runtime.abi import MANIFEST_SECTION
from aotensor_runtime.container import Container


def function(name: str) -> aot.Function:
    x = at.vector("x", dtype="float64", shape=("n",))
    return aot.function([x], x + 1, name=name)


def compiled(folder: Path, library: str, name: str, prefix: str = "") -> Path:
    return aot.compile(function(name), folder, name=library, cpu="generic", prefix=prefix).library


def test_files(package: Package, libraries: Path, tmp_path: Path) -> None:
    answer = package(libraries / "libmodel.so", "-o", tmp_path / "new" / "folder", "--version", "1.0.post1")
    assert (answer.code, answer.err) == (0, "")
    names = [Path(line).name for line in answer.out.splitlines()]
    assert names[0].startswith("model-1.0.post1-py3-none-manylinux_2_") and names[0].endswith("_x86_64.whl")
    assert names[1:] == ["model-1.0.post1-linux-x86_64.tar.gz"]
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == sorted(names)


def test_kinds_and_json(package: Package, libraries: Path, tmp_path: Path) -> None:
    answer = package(libraries / "libmodel.so", "-o", tmp_path, "--emit", "sdk", "--name", "My.Model", "--json")
    assert json.loads(answer.out) == {"files": [str(tmp_path / "My.Model-0.1.0-linux-x86_64.tar.gz")]}
    answer = package(libraries / "libmodel.so", "-o", tmp_path, "--emit", "wheel", "--name", "My.Model")
    (path,) = answer.out.split()
    assert Path(path).name.startswith("my_model-0.1.0-py3-none-")
    assert "My_Model/__init__.py" in zipfile.ZipFile(path).namelist()


def test_the_same_bytes_everywhere(libraries: Path, tmp_path: Path) -> None:
    """Another folder, time zone, locale, home and umask; no names of places inside, and the date that is asked for."""
    made: list[dict[str, bytes]] = []
    for number, environment in enumerate(({"TZ": "UTC"}, {"TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7"})):
        folder = tmp_path / f"place{number}"
        folder.mkdir()
        for name in ("libmodel.so", "libmodel.a"):
            shutil.copy(libraries / name, folder)
            os.utime(folder / name, (number * 10**9, number * 10**9))
        command = f"umask 0{number * 77}; exec '{sys.executable}' -m aotensor_cli package"
        arguments = "libmodel.so libmodel.a -o out --with-runtime"
        environment |= {"HOME": str(folder), "SOURCE_DATE_EPOCH": "1700000000"}
        answer = run("sh", "-c", f"{command} {arguments}", cwd=folder, **environment)
        assert answer.code == 0, answer.err
        made.append({path.name: path.read_bytes() for path in (folder / "out").iterdir()})
    assert made[0] == made[1] and len(made[0]) == 3
    for name, content in made[0].items():
        path = tmp_path / name
        path.write_bytes(content)
        if name.endswith(".whl"):
            with zipfile.ZipFile(path) as archive:
                assert {entry.date_time for entry in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}
                texts = [archive.read(entry) for entry in archive.infolist()]
        else:
            with tarfile.open(path) as archive:
                entries = archive.getmembers()
                assert [entry.name for entry in entries] == sorted(entry.name for entry in entries)
                assert {(entry.mtime, entry.uid, entry.uname) for entry in entries} == {(1_700_000_000, 0, "")}
                texts = [file.read() for entry in entries if (file := archive.extractfile(entry))]
        assert not any(str(tmp_path).encode() in text for text in texts)


@pytest.mark.parametrize(
    ("cpu", "note"),
    [
        ("x86-64-v2", "needs a processor of the level x86-64-v2, or a later one"),
        ("skylake", "runs on processors like skylake only: to ship it, compile it with --cpu generic, or v2,v3,v4"),
    ],
)
def test_the_processor_is_told(package: Package, tmp_path: Path, cpu: str, note: str) -> None:
    library = aot.compile(function("f"), tmp_path, cpu=cpu, target="x86_64-linux-gnu").library
    answer = package(library, "-o", tmp_path)
    assert (answer.code, answer.err) == (0, f"note: {library} {note}\n")


# --- what is refused -------------------------------------------------------------------------------------------------


def damaged(folder: Path, library: Path) -> Path:
    content = bytearray(library.read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "libdamaged.so").write_bytes(content)
    return folder / "libdamaged.so"


def short(folder: Path, library: Path) -> Path:
    (folder / "libshort.so").write_bytes(library.read_bytes()[:3000])
    return folder / "libshort.so"


def foreign(folder: Path, _: Path) -> Path:
    return Path(shutil.copy(os.path.realpath("/bin/sh"), folder / "libforeign.so"))


def text(name: str, content: bytes) -> Callable[[Path, Path], Path]:
    def make(folder: Path, _: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return make


def of_aarch64(folder: Path, library: Path) -> Path:
    """The same library with another e_machine, as an honest one for that machine has."""
    content = bytearray(library.read_bytes())
    struct.pack_into("<H", content, 18, 183)
    (folder / "libarm.so").write_bytes(seal(bytes(content)))
    return folder / "libarm.so"


def archive_alone(folder: Path, library: Path) -> Path:
    return library.with_name("libmodel.a")


def cut_archive(folder: Path, library: Path) -> Path:
    (folder / "libmodel.a").write_bytes(library.with_name("libmodel.a").read_bytes()[:-100])
    return folder / "libmodel.a"


def refused(answer: Answer, folder: Path, message: str) -> None:
    """One sentence, at most one hint, the exit code of wrong input, and no folder."""
    lines = answer.err.splitlines()
    assert answer.code == 2 and answer.out == "", answer
    assert lines[0].startswith("error: ") and message in lines[0], lines
    assert len(lines) == 1 or (len(lines) == 2 and lines[1].startswith("hint: ")), lines
    assert not folder.exists()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder, _: folder / "absent.so", "there is no such file"),
        (lambda folder, _: folder, "not a regular file"),
        (damaged, "the checksum does not match"),
        (short, "libshort.so: "),
        (foreign, "it has no manifest"),
        (text("model.py", b"x = 1\n"), "this is a model, not a library"),
        (text("model.h", b"#define AOTENSOR_H\n"), "this is a C header"),
        (text("empty.so", b""), "not an ELF file"),
        (text("empty.a", b"!<arch>\n"), "aotensor did not build this static library"),
        (archive_alone, "a package also needs the shared library"),
        (cut_archive, "ends inside a member"),
    ],
)
def test_what_is_no_library(
    package: Package, libraries: Path, tmp_path: Path, make: Callable[[Path, Path], Path], message: str
) -> None:
    refused(package(make(tmp_path, libraries / "libmodel.so"), "-o", tmp_path / "out"), tmp_path / "out", message)


def test_an_object_file(package: Package, tmp_path: Path) -> None:
    from aotensor.driver.artifact import compile_to_library
    from aotensor.driver.recipe import Options

    (tmp_path / "f.o").write_bytes(compile_to_library([function("f")], "f", Options()).object_code)
    refused(package(tmp_path / "f.o", "-o", tmp_path / "out"), tmp_path / "out", "but not a shared library")


@pytest.mark.parametrize(
    ("name", "prefix"), [("a b", ""), ('a"b', ""), ("a$b", ""), ("ä", ""), ("../a", ""), ("a", "x y"), ("a", ";")]
)
def test_names_that_build_files_cannot_hold(package: Package, tmp_path: Path, name: str, prefix: str) -> None:
    """No compiler of ours gives them, but a manifest may have any."""
    path = tmp_path / "library.so"
    path.write_bytes(renamed(small_library().shared(), name, prefix))
    refused(package(path, "-o", tmp_path / "out", "--name", "fine"), tmp_path / "out", "cannot be part of a file")


def renamed(library: bytes, name: str, prefix: str) -> bytes:
    """The library with another name and prefix in its manifest, and a checksum that fits."""
    section = Container(library).image.sections[MANIFEST_SECTION]
    text = library[section.offset : section.offset + section.size]
    tree = json.loads(text.rstrip(b"\0")) | {"name": name, "prefix": prefix, "llvm": "0"}
    made = json.dumps(tree, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode().ljust(len(text), b"\0")
    assert len(made) == len(text)
    return seal(library[: section.offset] + made + library[section.offset + section.size :])


def test_texts_that_could_end_what_they_stand_in(package: Package, tmp_path: Path) -> None:
    """A docstring with quotes, ends of comments, backslashes, and control characters."""
    made = small()
    made.specs[0] = replace(made.specs[0], doc='says """ and */ and \\ and \x00\n"quoted"')
    (tmp_path / "library.so").write_bytes(made.library("texts").shared())
    assert package(tmp_path / "library.so", "-o", tmp_path / "out").code == 0
    (wheel,) = (tmp_path / "out").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        tree = ast.parse(archive.read("texts/__init__.py"))
    (doc,) = [ast.get_docstring(node) for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert doc is not None and 'says """ and */ and' in doc and '"quoted"' in doc


def test_libraries_that_do_not_go_together(package: Package, libraries: Path, tmp_path: Path) -> None:
    model, out = libraries / "libmodel.so", tmp_path / "out"
    other = of_aarch64(tmp_path, compiled(tmp_path / "a", "other", "f"))
    refused(package(model, other, "-o", out), out, "libarm.so is for linux-aarch64, and ")
    refused(package(model, model, "-o", out), out, "both have the library model")
    clash = compiled(tmp_path / "b", "second", "pick")
    refused(package(model, clash, "-o", out), out, "both have the function pick")
    again = [compiled(tmp_path / "c", "one", "b", prefix="a_"), compiled(tmp_path / "c", "two", "a_b")]
    refused(package(*again, "-o", out), out, "both have the symbol a_b")
    archive = aot.compile(function("f"), tmp_path / "d", name="model", emit="static", cpu="generic").library
    refused(package(model, archive, "-o", out), out, "the shared library of the same compilation is missing")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--version", "one"], "--version 'one' is not a version of PEP 440"),
        (["--version", ""], "--version '' is not a version"),
        (["--version", "1.0-../../x"], "is not a version of PEP 440"),
        (["--name", "../x"], "'../x' cannot be the name of a package"),
        (["--name", ""], "'' cannot be the name of a package"),
        (["--name", "json"], "the package would hide the module json of Python's"),
        (["--name", "class"], "'class' cannot be imported by that name"),
        (["--name", "1st"], "'1st' cannot be imported by that name"),
        (["--name", "NumPy"], "the package cannot have the name of numpy"),
        (["--name", "aotensor.runtime"], "the package cannot have the name of aotensor-runtime"),
        (["--emit", "egg"], "'egg' is not one of"),
    ],
)
def test_names_and_versions(
    package: Package, libraries: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    refused(package(libraries / "libmodel.so", "-o", tmp_path / "out", *arguments), tmp_path / "out", message)


def test_a_date_that_is_none(
    package: Package, libraries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "today")
    answer = package(libraries / "libmodel.so", "-o", tmp_path / "out")
    refused(answer, tmp_path / "out", "SOURCE_DATE_EPOCH is 'today'")


def test_a_folder_that_cannot_be_written(package: Package, libraries: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here already")
    refused(package(libraries / "libmodel.so", "-o", tmp_path / "file" / "x"), tmp_path / "file" / "x", "file")
    out = tmp_path / "out"
    (out / "model-1.0-linux-x86_64.tar.gz").mkdir(parents=True)
    answer = package(libraries / "libmodel.so", "-o", out, "--version", "1.0")
    assert answer.code == 2 and "this is a folder, not a file" in answer.err
    assert [path.name for path in out.iterdir()] == ["model-1.0-linux-x86_64.tar.gz"], "all files, or none"


def test_nothing_is_executed(package: Package, libraries: Path, tmp_path: Path) -> None:
    """A library for another machine is packed here, with the tag of that machine."""
    arm = of_aarch64(tmp_path, libraries / "libmodel.so")
    answer = package(arm, "-o", tmp_path / "out", "--name", "model")
    assert answer.code == 0, answer.err
    wheel, sdk = (Path(line).name for line in answer.out.splitlines())
    assert wheel.endswith("_aarch64.whl") and sdk == "model-0.1.0-linux-aarch64.tar.gz"
