"""A C program whose library has a file of weights: found, missing, damaged, moved, and first calls at once."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from needs import path_of

import aotensor as aot
import aotensor.tensor as at

pytestmark = pytest.mark.needs("cc")
HERE = Path(__file__).parent
FILE = "layer.safetensors"
MISSING, WRONG = 16, 17


@pytest.fixture(scope="module")
def weights() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(90, 70))


@pytest.fixture(scope="module")
def built(weights: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the library, its weights, and programs that are linked with the shared and the static library."""
    folder = tmp_path_factory.mktemp("weights")
    x = at.matrix("x", shape=("n", 90))
    aot.compile(aot.function([x], x @ weights, name="layer"), folder, weights=True, emit=("lib", "static"), opt_level=1)
    flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", str(HERE / "weights_client.c")]
    for name, link in (("client", ["-L.", "-llayer", "-Wl,-rpath,$ORIGIN"]), ("static", ["liblayer.a"])):
        command = [path_of("cc"), "-I.", *flags, *link, "-lm", "-lpthread", "-o", name]
        subprocess.run(command, cwd=folder, check=True)
    return folder


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    """A copy of these."""
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    return tmp_path


def answer(folder: Path, *words: str | Path, program: str = "client", at: Path | None = None) -> list[str]:
    """Status, its text, the message of the context, and numbers of the result."""
    command = [str(folder / program), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=at or folder, timeout=20)
    assert done.returncode in (0, MISSING, WRONG), done
    return done.stdout.splitlines()


def is_right(lines: list[str], weights: np.ndarray) -> bool:
    x = np.array([(k % 17 - 8) / 64 for k in range(180)]).reshape(2, 90)
    expected = (x @ weights).ravel()[[0, 70, 139]]
    found = [float.fromhex(word) for word in lines[3].split()]
    return lines[0] == "0" and np.allclose(found, expected, rtol=1e-12)


def expectation(folder: Path) -> str:
    content = (folder / FILE).read_bytes()
    return f"expected {len(content)} bytes with SHA-256 {hashlib.sha256(content).hexdigest()}"


@pytest.mark.unlimited("its time is that of the library, which the other tests need, too")
def test_the_library_finds_the_file_next_to_it(folder: Path, weights: np.ndarray, tmp_path: Path) -> None:
    for words in (["call"], ["threads"], ["path", FILE], ["given", FILE], ["given", FILE, "checked"]):
        assert is_right(answer(folder, *words), weights), words
    elsewhere = tmp_path / "links"
    elsewhere.mkdir()
    shutil.copy(folder / "client", elsewhere)
    (elsewhere / "liblayer.so").symlink_to(folder / "liblayer.so")
    assert is_right(answer(elsewhere, "call"), weights), "a link leads to the folder"
    moved = folder.rename(folder.parent / "moved")
    assert is_right(answer(moved, "call", at=moved.parent), weights)


def test_a_missing_file_is_a_status(folder: Path, weights: np.ndarray) -> None:
    expected = expectation(folder)
    (folder / FILE).rename(folder / "other.bin")
    for words in (["call"], ["path", "nothing.bin"]):
        status, text, message, *_ = answer(folder, *words)
        assert status == str(MISSING)
        assert text.startswith(f"layer: the weights {FILE} are not there or cannot be read: {expected}; ")
        path = folder / FILE if words == ["call"] else "nothing.bin"
        assert message == f"layer: weights: {path}: there is no such file, or it cannot be read: {expected}"
    assert is_right(answer(folder, "path", "other.bin"), weights)
    assert is_right(answer(folder, "given", "other.bin"), weights)
    (folder / FILE).mkdir()
    assert "it is not a regular file" in answer(folder, "call")[2]
    (folder / FILE).rmdir()
    os.mkfifo(folder / FILE)
    assert "it is not a regular file" in answer(folder, "call")[2], "and it does not wait for a writer"


@pytest.mark.parametrize("damage", ["shorter", "longer", "empty", "header", "data", "another"])
def test_a_wrong_file_is_a_status(damage: str, folder: Path) -> None:
    expected, content = expectation(folder), bytearray((folder / FILE).read_bytes())
    match damage:
        case "shorter" | "longer" | "empty":
            content = {"shorter": content[:-1], "longer": content + b"\0", "empty": bytearray()}[damage]
            reason = f"it has {len(content)} bytes, "
        case "header" | "data":
            content[20 if damage == "header" else -20] ^= 1
            reason = "its content is another one, "
        case _:
            content[-8 * 6300 :] = np.random.default_rng(4).normal(size=6300).tobytes()
            reason = "its content is another one, "
    (folder / FILE).write_bytes(content)
    status, text, message, *_ = answer(folder, "call")
    assert (status, message) == (str(WRONG), f"layer: weights: {folder / FILE}: {reason}{expected}")
    assert text.startswith(f"layer: the file or memory found is not {FILE}: {expected}; ")
    status, _, message, *_ = answer(folder, "given", FILE)
    assert status == str(WRONG) and message.endswith(expected)


def test_memory_of_the_caller_is_aligned(folder: Path) -> None:
    status, _, message, *_ = answer(folder, "odd", FILE)
    assert status == str(WRONG)
    assert message.startswith("layer: weights: data are not at a multiple of 64 bytes, expected ")


def test_a_static_library_needs_a_call(folder: Path, weights: np.ndarray) -> None:
    status, _, message, *_ = answer(folder, "call", program="static")
    assert status == str(MISSING)
    assert message.startswith(
        f"layer: weights: the folder of the library is unknown: call aotensor_weights_layer with the path of {FILE}, "
    )
    for words in (["path", FILE], ["given", FILE]):
        assert is_right(answer(folder, *words, program="static"), weights)
