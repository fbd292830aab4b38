"""Which functions run, and which files of the repository are read: in this process and in those that it starts.

Python calls `_called` at each call of a function (`sys.settrace`) and `_heard` at each audit event.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

ROOT: Final = str(Path(__file__).parents[1]) + os.sep
VARIABLE: Final = "AOTENSOR_REACH"
"""The folder that processes of tests write what they reach to."""
_OPTIMIZED: Final = 1
"""The flag of code that is a function's: bodies of modules and classes lack it."""
_cached: Final = functools.lru_cache


class Reached:
    """Code that ran, by its address, and the files that were read."""

    def __init__(self) -> None:
        self.codes: dict[int, CodeType] = {}
        self.files: set[str] = set()
        self.parts: set[int] = set()

    def add(self, other: Reached) -> None:
        """Also what another one has."""
        if id(other) not in self.parts:
            self.parts.add(id(other))
            self.codes |= other.codes
            self.files |= other.files

    def places(self) -> set[tuple[str, int]]:
        """(file in the repository, first line) of the functions."""
        functions = (code for code in self.codes.values() if code.co_flags & _OPTIMIZED)
        return {
            (code.co_filename[len(ROOT) :], code.co_firstlineno)
            for code in functions
            if code.co_filename.startswith(ROOT)
        }


_now: Reached = Reached()
_is_started, _is_on = False, False


def _called(frame: FrameType, event: str, argument: Any) -> None:
    code = frame.f_code
    _now.codes[id(code)] = code


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if not _is_on:
        return
    if event == "open":
        path, mode, _ = arguments
        is_read = mode is None or not {*mode} & {*"wax"}
        if is_read and isinstance(path, str | os.PathLike):
            _note(os.fspath(path))
    elif event in ("os.listdir", "os.scandir"):
        if isinstance(arguments[0], str | os.PathLike):
            _note(os.fspath(arguments[0]), "/")
    elif event == "subprocess.Popen":
        _, words, folder, _ = arguments
        for word in [words] if isinstance(words, str | bytes) else [*words, *([folder] if folder else [])]:
            path = os.path.join(folder or "", os.fspath(word)) if isinstance(word, str | os.PathLike) else ""
            if path and word is not folder and len(path) < 4096 and "\0" not in path and os.path.exists(path):
                _note(path, "/**" if os.path.isdir(path) else "")


def _note(path: str | bytes, suffix: str = "") -> None:
    whole = os.path.abspath(path) if isinstance(path, str) else ""
    if not whole.startswith(ROOT) or whole.endswith((".pyc", "__pycache__")) or "/." in whole[len(ROOT) - 1 :]:
        return
    if not _is_of_python(sys._getframe(2)):
        _now.files.add(whole[len(ROOT) :] + suffix)


def _is_of_python(frame: FrameType | None) -> bool:
    """True for what imports, tracebacks and the compiler's own digest of its sources read."""
    for depth in range(8):
        if frame is None:
            return False
        code = frame.f_code
        if code.co_name == "compiler_identity" or code.co_filename.endswith("linecache.py"):
            return True
        if depth < 2 and code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


# --- one test, or a part of it ---------------------------------------------------------------------------------------


def start() -> None:
    """Listen. Functions that are cached from now on repeat what their first call reached, each time they are called."""
    global _is_started
    _is_started = True
    sys.addaudithook(_heard)
    functools.lru_cache = _replayed  # type: ignore[assignment]
    functools.cache = _replayed(None)  # type: ignore[assignment]


@contextmanager
def reaching() -> Iterator[Reached]:
    """What runs inside, which what is around has reached, too. Nothing unless this process records."""
    if not _is_started:
        yield Reached()
        return
    global _now, _is_on
    outer, was_on, _now, _is_on = _now, _is_on, Reached(), True
    inner = _now
    if not was_on:
        sys.settrace(_called)
        threading.settrace(_called)
    try:
        yield inner
    finally:
        if not was_on:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
        _now, _is_on = outer, was_on
        if was_on:
            outer.add(inner)


def again(reached: Reached) -> None:
    """What is now running makes use of what was reached before."""
    if _is_on:
        _now.add(reached)


def _replayed(maxsize: Any = 128, typed: bool = False) -> Any:
    """`functools.lru_cache`, whose hits reach what the miss reached."""
    if callable(maxsize):
        return _replayed()(maxsize)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @_cached(maxsize, typed)
        def noted(*arguments: Any, **named: Any) -> tuple[Any, Reached]:
            with reaching() as inner:
                value = function(*arguments, **named)
            return value, inner

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            value, inner = noted(*arguments, **named)
            again(inner)
            return value

        call.cache_clear, call.cache_info = noted.cache_clear, noted.cache_info  # type: ignore[attr-defined]
        return call

    return decorate


# --- processes of tests ----------------------------------------------------------------------------------------------


def hook(folder: Path) -> dict[str, str]:
    """Variables for the processes that tests start, with which they write what they reach into a folder."""
    here = str(Path(__file__).parent)
    lines = ["import sys", f"sys.path.append({here!r})", "import tracing", "sys.path.pop()", "tracing.begin_process()"]
    (folder / "sitecustomize.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = os.pathsep.join(x for x in (str(folder), os.environ.get("PYTHONPATH")) if x)
    return {VARIABLE: str(folder), "PYTHONPATH": path}


def begin_process() -> None:
    """Listen until this process ends."""
    folder = os.environ.get(VARIABLE)
    if folder and os.path.isdir(folder):
        global _is_started
        _is_started = True
        sys.addaudithook(_heard)
        context = reaching()
        atexit.register(_end_process, Path(folder, f"{os.getpid()}.json"), context.__enter__(), context)


def _end_process(path: Path, reached: Reached, context: AbstractContextManager[Reached]) -> None:
    context.__exit__(None, None, None)
    path.write_text(json.dumps([sorted(reached.places()), sorted(reached.files)]), encoding="utf-8")


def of_processes(folder: Path) -> tuple[set[tuple[str, int]], set[str]]:
    """(places, files) that processes wrote since the last call."""
    places, files = set[tuple[str, int]](), set[str]()
    for path in folder.glob("*.json"):
        found, read = json.loads(path.read_text(encoding="utf-8"))
        places |= {(file, line) for file, line in found}
        files |= {*read}
        path.unlink()
    return places, files
