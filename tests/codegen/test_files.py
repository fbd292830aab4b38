"""Writing files: whole or not at all, several together, devices and FIFOs, full disks."""

from __future__ import annotations

import errno
import os
import resource
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from aotensor.codegen import files
from aotensor.codegen.files import write_file, write_files


def listing(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_new_and_old_files(tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    write_file(path, b"old")
    assert path.read_bytes() == b"old" and os.access(path, os.X_OK)
    path.chmod(0o640)
    write_file(path, b"new")
    assert path.read_bytes() == b"new" and stat.S_IMODE(path.stat().st_mode) == 0o640
    write_file(tmp_path / "x.h", b"text")
    assert not (tmp_path / "x.h").stat().st_mode & 0o111


@pytest.mark.parametrize("step", ["replace", "fsync", "link"])
def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """At any step, for the second of three files: one is new, two are there."""
    for name in "ac":
        (tmp_path / name).write_bytes(b"old " + name.encode())
    before, calls = listing(tmp_path), []
    real = getattr(os, step)

    def fail(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "no space left on device")
        return real(*arguments)

    monkeypatch.setattr(files.os, step, fail)
    contents = {tmp_path / name: b"new" for name in "abc"}
    if step == "link":  # a file system without links: a copy serves
        monkeypatch.setattr(files.os, step, lambda *_: (_ for _ in ()).throw(OSError("no links")))
        write_files(contents)
        assert listing(tmp_path) == {"a": b"new", "b": b"new", "c": b"new"}
        return
    with pytest.raises(OSError, match="no space left"):
        write_files(contents)
    assert listing(tmp_path) == before


def test_an_interrupt_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "b").write_bytes(b"old")
    real = os.replace

    def interrupt(source: str, target: Path) -> None:
        real(source, target)
        if target.name == "b":
            raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_files({tmp_path / name: b"new" for name in "abc"})
    assert set(listing(tmp_path)) <= {"b"}


def test_symbolic_links_stay(tmp_path: Path) -> None:
    target, link = tmp_path / "real", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_file(link, b"new")
    assert link.is_symlink() and target.read_bytes() == b"new"


def test_devices_are_written_through(tmp_path: Path) -> None:
    number = os.stat("/dev/null").st_rdev
    write_files({Path("/dev/null"): b"nothing", tmp_path / "a": b"a"})
    assert os.stat("/dev/null").st_rdev == number and (tmp_path / "a").read_bytes() == b"a"


def test_fifos_are_written_through(tmp_path: Path) -> None:
    path, found = tmp_path / "fifo", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()
    write_file(path, b"x" * 200_000)
    reader.join(timeout=10)
    assert found == [b"x" * 200_000] and stat.S_ISFIFO(path.stat().st_mode)


def test_standard_output_stays_where_it_is(tmp_path: Path) -> None:
    """/dev/stdout is a link to a file here, which must not be replaced."""
    program = (
        "from pathlib import Path; from aotensor.codegen.files import write_file; "
        "print('first', flush=True); write_file(Path('/dev/stdout'), b'second')"
    )
    link = os.readlink("/dev/stdout")
    with (tmp_path / "out").open("ab") as out:
        subprocess.run([sys.executable, "-c", program], stdout=out, check=True)
    assert os.readlink("/dev/stdout") == link
    assert b"second" in (tmp_path / "out").read_bytes()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_a_full_device_takes_nothing_else_along(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left") as caught:
        write_files({tmp_path / "a": b"a", Path("/dev/full"): b"b"})
    assert caught.value.filename == "/dev/full" and listing(tmp_path) == {}


def test_a_limit_of_the_system(tmp_path: Path) -> None:
    """The kernel refuses to write more, as it does on a full disk: both files stay as they were."""
    (tmp_path / "a").write_bytes(b"old")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    program = (
        "import signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); from pathlib import Path\n"
        "from aotensor.codegen.files import write_files\n"
        f"write_files({{Path({str(tmp_path)!r}, name): bytes(n) for name, n in (('a', 100), ('b', 9000))}})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 1 and "File too large" in done.stderr and "/b'" in done.stderr
    assert listing(tmp_path) == {"a": b"old"}


def test_folders_and_missing_folders(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match="folder"):
        write_file(tmp_path / "folder", b"")
    with pytest.raises(FileNotFoundError, match=r"missing/x\.so'"):
        write_file(tmp_path / "missing" / "x.so", b"")
