"""`file.py` and `file.py:name` → Functions: the file is executed like a script, and its Functions are collected."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

from aotensor import Function
from aotensor.driver.naming import c_name
from aotensor.errors import LibraryError
from aotensor_cli.failure import explain
from aotensor_cli.options import Exit, Refusal

_MODULE: Final = "__aotensor_model__"
_LIBRARY_SUFFIXES: Final = (".so", ".o", ".dylib", ".dll")


@dataclass(frozen=True)
class Model:
    """The functions of a model file, in order of definition.

    imported: modules from the model's own folder that it imported, for dependency files.
    """

    path: Path
    functions: tuple[Function, ...]
    imported: tuple[Path, ...]


def split_name(text: str) -> tuple[Path, str | None]:
    """`file.py:name` → path and name; a path that holds a colon and exists is a path."""
    head, colon, tail = text.rpartition(":")
    if colon and tail.isidentifier() and not Path(text).exists():
        return Path(head), tail
    return Path(text), None


def is_library(path: Path) -> bool:
    """Is it a compiled file, judged by its first bytes and then by its name?"""
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError:
        start = b""
    return start == b"\x7fELF" or path.suffix in _LIBRARY_SUFFIXES


def read_library(path: Path) -> bytes:
    """The bytes of a compiled file.   Raises: Refusal if it cannot be read"""
    return _read(path)


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the path in front of what is wrong with a library."""
    try:
        yield
    except LibraryError as error:
        raise type(error)(f"{path}: {error.diagnostic.title}", hint=error.diagnostic.hint) from error


def load_model(text: str) -> Model:
    """Execute a model file and collect its Functions.

    Raises: Refusal for a file that cannot be read or executed, that has no Function, or none of that name.
    """
    path, name = split_name(text)
    source = _read(path)
    before = set(sys.modules)
    namespace = _execute(path, source)
    functions = _collect(namespace)
    if not functions:
        raise Refusal(
            f"{path}: there is no Function at the top level of the file",
            "define one with f = aotensor.function([x], y)", Exit.PROGRAM,
        )  # fmt: skip
    if name is not None:
        functions = _chosen(path, functions, namespace, name)
    return Model(path, functions, _imported(path, before))


def _read(path: Path) -> bytes:
    if path.is_dir():
        raise Refusal(f"{path}: this is a folder, not a file")
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise Refusal(f"{path}: there is no such file") from None
    except OSError as error:
        raise Refusal(f"{path}: cannot be read ({(error.strerror or str(error)).lower()})") from error


def _execute(path: Path, source: bytes) -> dict[str, object]:
    """The names that the file defines. What it prints goes to stderr: stdout is for results."""
    module = ModuleType(_MODULE)
    module.__file__ = str(path)
    with _environment(path, module):
        try:
            exec(compile(source, str(path), "exec"), module.__dict__)
        except SyntaxError as error:
            raise Refusal(f"{_place(error, path)}: syntax error: {error.msg}", code=Exit.PROGRAM) from error
        except ValueError as error:
            if traceback.extract_tb(error.__traceback__)[-1].filename == __file__:
                # Python before 3.11.4 says so of null bytes
                raise Refusal(f"{path}: syntax error: {error}", code=Exit.PROGRAM) from error
            raise _refusal(path, error) from error
        except SystemExit as error:
            raise Refusal(f"{path}: the model ends the process with exit({error.code!r})", code=Exit.PROGRAM) from error
        except Exception as error:
            raise _refusal(path, error) from error
    return vars(module)


@contextlib.contextmanager
def _environment(path: Path, module: ModuleType) -> Iterator[None]:
    """What a script finds: its folder first in the search path, itself in `sys.modules` and `sys.argv`."""
    argv, search_path = sys.argv, sys.path[:]
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[_MODULE], sys.argv = module, [str(path)]
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        sys.argv, sys.path[:] = argv, search_path


def _place(error: SyntaxError, path: Path) -> str:
    """Where a syntax error is; null bytes and bad encodings have no line."""
    return f"{error.filename or path}:{error.lineno}" if error.lineno else str(error.filename or path)


def _refusal(path: Path, error: Exception) -> Refusal:
    """An exception of the model: the innermost line of the user's own code, and what it says."""
    folder = str(path.resolve().parent)
    frames = [x for x in traceback.extract_tb(error.__traceback__) if x.filename == str(path) or _is_own(x, folder)]
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else str(path)
    title, hint, code = explain(error)
    if code is Exit.BUG and not title.startswith("pass "):
        return Refusal(f"{place}: {title.removeprefix('internal error: ')}", code=Exit.PROGRAM)
    return Refusal(f"{place}: {title}", hint, Exit.PROGRAM if code is Exit.USAGE else code)


def _is_own(frame: traceback.FrameSummary, folder: str) -> bool:
    return frame.filename.startswith(folder) and "site-packages" not in frame.filename


def _collect(namespace: dict[str, object]) -> tuple[Function, ...]:
    """The Functions among the values, each once; one without a name takes that of its variable."""
    found: list[Function] = []
    for variable, value in namespace.items():
        if isinstance(value, Function) and not any(value is f for f in found):
            if not value.is_named:
                value.name = c_name(variable, (), "function")
            found.append(value)
    return tuple(found)


def _chosen(path: Path, functions: Sequence[Function], namespace: dict[str, object], name: str) -> tuple[Function, ...]:
    value = namespace.get(name)
    if isinstance(value, Function):
        return (value,)
    for f in functions:
        if f.name == name:
            return (f,)
    raise Refusal(f"{path}: there is no Function {name}", f"it has {', '.join(f.name for f in functions)}")


def _imported(path: Path, before: set[str]) -> tuple[Path, ...]:
    folder = path.resolve().parent
    files = [getattr(sys.modules[name], "__file__", None) for name in sorted(set(sys.modules) - before - {_MODULE})]
    own = [Path(file) for file in files if file and Path(file).resolve().is_relative_to(folder)]
    return tuple(file for file in own if "site-packages" not in file.parts)
