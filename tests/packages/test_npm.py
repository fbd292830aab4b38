"""A package for npm: installed by npm, imported by Node, the same bytes each time; what cannot be one is refused."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest
from needs import path_of
from packaged import Package, succeed
from packaging.version import Version

import aotensor as aot
import aotensor.tensor as at
from aotensor.codegen.targets.custom_section import add_section
from aotensor_cli.packaging.npm import semantic
from aotensor_runtime.errors import DamagedLibrary, ForeignLibrary
from aotensor_runtime.formats.wasm import WasmFile

pytestmark = pytest.mark.needs("zig")

MAIN = """
import {{ load }} from "@who/sums";
const {{ manifest, total }} = await load();
console.log(manifest.name, total([1, 2, 3.5]));
"""
TYPED = """
import { load, type Model, type AotensorError } from "@who/sums";
const model: Model = await load();
const sum: number = model.total(new Float64Array([1, 2]));
const other: number = model.total({ x: [1, 2] });
const message = (error: AotensorError): number => error.status;
// @ts-expect-error: of another dtype
model.total(new Float32Array([1]));
// @ts-expect-error: there is no such function
model.totals([1]);
// @ts-expect-error: no input of that name
model.total({ y: [1] });
export { sum, other, message };
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    x = at.vector("x", dtype="float64")
    f = aot.function([x], x.sum(), name="total")
    made = aot.compile(f, tmp_path_factory.mktemp("npm"), name="Sums", target="wasm32-wasi")
    assert [path.name for path in made.files] == ["Sums.wasm", "Sums.h", "Sums.mjs", "Sums.d.mts"]
    return made.library


def test_installed_and_imported(module: Path, package: Package, tmp_path: Path) -> None:
    options = ["--name", "@who/sums", "--version", "1.2", "-o", tmp_path]
    answer = package(module, *options)
    file = tmp_path / "who-sums-1.2.0.tgz"
    assert (answer.code, answer.out) == (0, f"{file}\n"), answer.err
    first = file.read_bytes()
    assert package(module, *options, "--emit", "npm").code == 0 and file.read_bytes() == first
    with tarfile.open(file) as archive:
        names = [x.name for x in archive.getmembers() if x.isfile()]
        about = json.load(archive.extractfile("package/package.json"))  # type: ignore[arg-type]
    assert names == [
        f"package/{x}" for x in ("LICENSE", "README.md", "Sums.d.mts", "Sums.mjs", "Sums.wasm", "package.json")
    ]
    assert about["exports"]["."] == {"types": "./Sums.d.mts", "default": "./Sums.mjs"} and about["version"] == "1.2.0"
    assert about["engines"] == {"node": ">=18"} and about["files"] == ["Sums.wasm", "Sums.mjs", "Sums.d.mts"]
    node = path_of("node")
    _install(file, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "main.js").write_text(MAIN.format())
    assert succeed(node, "main.js", cwd=tmp_path) == "Sums 6.5\n"


def test_typed(module: Path, package: Package, tmp_path: Path) -> None:
    """TypeScript knows inputs and results of an installed package, and finds what does not fit."""
    compiler = shutil.which("tsc")
    if compiler is None:
        pytest.skip("no tsc on the path (Debian: node-typescript, or npm install --global typescript)")
    assert package(module, "--name", "@who/sums", "-o", tmp_path).code == 0
    _install(tmp_path / "who-sums-0.1.0.tgz", tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "main.ts").write_text(TYPED)
    options = ("--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom")
    assert succeed(compiler, *options, "main.ts", cwd=tmp_path) == ""


def _install(file: Path, folder: Path) -> None:
    """By npm; where there is none, as npm does it: what is in `package` becomes the folder of the package's name."""
    npm = shutil.which("npm")
    if npm is not None:
        succeed(npm, "install", "--offline", "--no-audit", "--no-fund", file, cwd=folder, HOME=str(folder))
        return
    with tarfile.open(file) as archive:
        archive.extractall(folder, filter="data")
    (folder / "node_modules" / "@who").mkdir(parents=True)
    (folder / "package").rename(folder / "node_modules" / "@who" / "sums")


def test_refused(module: Path, package: Package, tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other.wasm"
    other.write_bytes(b"\0asm\1\0\0\0")
    data = bytearray(module.read_bytes())
    data[len(data) // 2] ^= 1
    changed = tmp_path / "changed.wasm"
    changed.write_bytes(data)
    for arguments, message in (
        ([module, module], "a package for npm must contain exactly one library, for WebAssembly"),
        ([module, "--emit", "wheel"], "is for WebAssembly, but Python loads libraries for Linux, Windows and macOS"),
        ([module, "--emit", "sdk"], "is for WebAssembly, but C programs cannot link such a library"),
        ([module, "--with-runtime"], "a package for npm must contain exactly one library, for WebAssembly"),
        ([module, "--name", "Big Name"], "'Big Name' cannot be the name of a package for npm"),
        ([module, "--version", "1.2.3.4"], "npm does not support the version 1.2.3.4"),
        ([other], f"{other}: aotensor did not build this file: it has no manifest"),
        ([tmp_path / "none.wasm"], "there is no such file"),
        ([changed], f"{changed}: the checksum does not match: the file was changed after it was built"),
    ):
        answer = package(*arguments, "-o", out)
        assert answer.code == 2 and message in answer.err and not out.exists(), answer.err


def test_versions() -> None:
    known = {
        "1": "1.0.0",
        "1.2.3": "1.2.3",
        "1.2rc1": "1.2.0-rc.1",
        "2.0.dev3": "2.0.0-dev.3",
        "1a2.dev4": "1.0.0-a.2.dev.4",
    }
    assert {text: semantic(Version(text)) for text in known} == known


def test_sections() -> None:
    head = b"\0asm\1\0\0\0"
    module = add_section(add_section(head, "first", b"x" * 300), "second", b"{}")
    found = WasmFile(module)
    assert found.section("second") == b"{}" and found.section("first") == b"x" * 300 and found.section("third") is None
    first = len(add_section(head, "first", b"x" * 300))
    for size in range(len(head) + 1, len(module)):  # cut anywhere but between sections
        if size != first:
            with pytest.raises(DamagedLibrary):
                WasmFile(module[:size])
    with pytest.raises(ForeignLibrary, match="not a WebAssembly module"):
        WasmFile(b"\x7fELF")
    with pytest.raises(DamagedLibrary, match="broken"):
        WasmFile(head + b"\0" + b"\xff" * 9)
