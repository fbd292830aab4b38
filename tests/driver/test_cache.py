"""The cache: whatever happens to its files, a call gives the right values, and nothing foreign is loaded."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.config import config, size_in_bytes
from aotensor.driver import artifact
from aotensor.driver.store import Store


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    monkeypatch.setenv("AOTENSOR_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that are compiled while the test runs."""
    names: list[str] = []
    real = artifact.library_bytes

    def count(functions: Sequence[aot.Function], opt_level: int, sections: Mapping[str, bytes]) -> bytes:
        names.extend(f.name for f in functions)
        return bytes(real(functions, opt_level, sections))

    monkeypatch.setattr(artifact, "library_bytes", count)
    return names


def triple() -> aot.Function:
    x = at.vector("x", dtype="float64", shape=("n",))
    return aot.function([x], 3 * x, name="triple")


def call() -> list[float]:
    """The values of a new Function, which looks into the cache."""
    return [float(x) for x in triple()(np.arange(3.0))]


def entry(folder: Path) -> Path:
    (found,) = (folder / "functions").iterdir()
    return found


def test_found_again(folder: Path, compiled: list[str]) -> None:
    assert call() == call() == [0, 3, 6]
    assert compiled == ["triple"] and entry(folder).name.startswith("triple-")
    assert entry(folder).stat().st_mode & 0o777 == 0o600 and folder.stat().st_mode & 0o777 == 0o700


def test_code_of_another_optimisation_level_is_not_taken(
    folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call() == [0, 3, 6]
    with monkeypatch.context() as patch:
        patch.setattr("aotensor.driver.cache.OPT_LEVEL", 1)
        assert call() == call() == [0, 3, 6]
    assert call() == [0, 3, 6] and compiled == ["triple", "triple"]
    assert len(list((folder / "functions").iterdir())) == 2


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "cut off": lambda path: os.truncate(path, path.stat().st_size // 2),
    "a changed byte": lambda path: path.write_bytes(path.read_bytes()[:-100] + b"?" + path.read_bytes()[-99:]),
    "deleted": lambda path: path.unlink(),
    "a folder": lambda path: (path.unlink(), path.mkdir(), path.rmdir()),
    "a link": lambda path: path.symlink_to(path.rename(path.with_suffix(".moved"))),
    "a FIFO": lambda path: (path.unlink(), os.mkfifo(path)),
    "writable for others": lambda path: path.chmod(0o602),
    "writable for the group": lambda path: path.chmod(0o620),
    "text": lambda path: path.write_text("hello"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_it_heals(folder: Path, compiled: list[str], damage: str) -> None:
    call()
    DAMAGES[damage](entry(folder))
    assert call() == [0, 3, 6] and compiled == ["triple", "triple"]
    assert call() == [0, 3, 6] and compiled == ["triple", "triple"], "the new entry is found"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_files_of_others_are_not_loaded(folder: Path, compiled: list[str]) -> None:
    call()
    os.chown(entry(folder), 65534, 65534)
    assert call() == [0, 3, 6] and compiled == ["triple", "triple"]
    assert entry(folder).stat().st_uid == 0


def test_an_entry_under_the_name_of_another_is_not_loaded(folder: Path) -> None:
    x = at.vector("x", dtype="float64", shape=("n",))
    call()
    own = entry(folder)
    content = own.read_bytes()
    own.unlink()
    aot.function([x], 5 * x, name="triple")(np.arange(3.0))
    entry(folder).rename(own)
    assert own.read_bytes() != content
    assert call() == [0, 3, 6]


@pytest.mark.parametrize("kind", ["a file in its place", "a read-only folder"])
def test_without_a_folder_a_call_warns_and_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, compiled: list[str]
) -> None:
    if kind == "a read-only folder" and os.geteuid() == 0:
        place = Path("/proc/self/fdinfo/cache")  # not even root makes folders there
    else:
        (tmp_path / "file").touch()
        place = tmp_path / "file" / "cache"
    monkeypatch.setenv("AOTENSOR_CACHE_DIR", str(place))
    f = triple()
    with pytest.warns(RuntimeWarning, match="cannot be written") as caught:
        assert f(np.arange(3.0)).tolist() == [0, 3, 6]
    assert caught[0].filename == __file__ and compiled == ["triple"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(np.ones(2))


def test_a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("aotensor.driver.store.write_file", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        assert call() == [0, 3, 6]


def test_neither_home_nor_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "AOTENSOR_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)

    def nobody(_: int) -> None:
        raise KeyError("uid not found")

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert config.cache_dir == tmp_path / f"aotensor-{os.getuid()}"
    assert call() == [0, 3, 6] and entry(config.cache_dir)
    monkeypatch.setattr("tempfile.tempdir", None)


def test_a_relative_folder_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AOTENSOR_CACHE_DIR", "here")
    assert config.cache_dir == tmp_path / "here"


# --- the store -------------------------------------------------------------------------------------------------------


def filled(folder: Path, count: int, limit: int = 10**9) -> Store:
    """A store with entries of a kilobyte, the first one used longest ago."""
    found = Store(folder, limit)
    for k in range(count):
        path = found.put(f"parts/{k}", bytes([k]) * 1000)
        os.utime(path, (1000 + k, 1000 + k))
    return found


def test_least_recently_used_goes_first(tmp_path: Path) -> None:
    store = filled(tmp_path, 10)
    size = store.entries()[0].size
    assert store.get("parts/0") == bytes(1000)  # used now
    assert store.prune(3 * size) == 7 * size
    assert [x.name for x in store.entries()] == ["parts/0", "parts/9", "parts/8"]
    small = Store(tmp_path, 2 * size)
    small.put("parts/new", b"x" * 1000)
    assert {x.name for x in small.entries()} == {"parts/new", "parts/0"}
    assert small.clear() == 2 * size and small.entries() == []


def test_an_entry_larger_than_the_limit_is_kept_until_the_next(tmp_path: Path) -> None:
    store = Store(tmp_path, 100)
    store.put("parts/a", bytes(1000))
    assert store.get("parts/a") == bytes(1000)
    store.put("parts/b", bytes(1000))
    assert [x.name for x in store.entries()] == ["parts/b"]


def test_what_killed_processes_left_is_swept(tmp_path: Path) -> None:
    store = filled(tmp_path, 1)
    left, fresh = tmp_path / "parts" / ".0.abandoned", tmp_path / "parts" / ".0.now"
    earlier = tmp_path / ("a1" * 20)
    foreign = tmp_path / "notes"
    for folder in (earlier, foreign):
        folder.mkdir()
        (folder / "libf.so").write_bytes(bytes(10))
    for path in (left, fresh):
        path.write_bytes(bytes(10))
    for path in (left, earlier, foreign):
        os.utime(path, (1, 1))
    assert store.prune(store.limit) == 20
    assert not left.exists() and not earlier.exists() and fresh.exists() and foreign.exists()
    assert store.get("parts/0") == bytes(1000)


def test_files_that_disappear_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between listing and looking, another process removes every other file."""
    store = filled(tmp_path, 6)
    real = Path.lstat

    def lstat(path: Path) -> os.stat_result:
        if path.name in "135":
            path.unlink(missing_ok=True)
        return real(path)

    monkeypatch.setattr(Path, "lstat", lstat)
    assert {x.name for x in store.entries()} == {"parts/0", "parts/2", "parts/4"}
    store.clear()


def test_names_that_are_no_files(tmp_path: Path) -> None:
    store = Store(tmp_path, 1000)
    assert store.get("functions/\0") is None and store.get("functions/" + "x" * 300) is None


@pytest.mark.unlimited("the one test of several processes", "ci")
def test_processes_at_the_same_time(folder: Path) -> None:
    """Four processes compile one function, while another clears the cache again and again."""
    program = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_cache as t; print(t.call())"
    running = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    store = Store(folder, 10**9)
    while any(process.poll() is None for process in running):
        store.clear()
        time.sleep(0.02)
    for process in running:
        out, err = process.communicate()
        assert (out, process.returncode) == ("[0.0, 3.0, 6.0]\n", 0), err


def test_sizes() -> None:
    assert [size_in_bytes(x) for x in ("0", "10", "2k", "1.5M", "3 GB")] == [0, 10, 2000, 1_500_000, 3 * 10**9]
    for text in ("", "x", "-1", "1Q", "1e3", "9" * 30):
        with pytest.raises(ValueError, match="is not a size"):
            size_in_bytes(text)


def test_a_size_that_is_none_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AOTENSOR_CACHE_SIZE", "much")
    with pytest.raises(aot.errors.GraphValueError, match="AOTENSOR_CACHE_SIZE: 'much' is not a size"):
        call()
