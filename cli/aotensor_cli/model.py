"""Load Functions from `file.py`, `file.py:name`, `file.onnx` or `file.mlir`; Python files are run as scripts."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Final

from aotensor import NLP, Function
from aotensor.driver.naming import c_name
from aotensor.errors import AotensorError
from aotensor.graph.variable import Variable
from aotensor.importers.errors import NoCounterpart
from aotensor_cli.options import NO_FUNCTION, Exit, Refusal, current_session, similar
from aotensor_cli.reading.foreign_models import SUFFIXES, function_of_file, without_counterpart
from aotensor_cli.reading.kinds import refuse_other_kinds
from aotensor_cli.reading.library import split_name
from aotensor_cli.reading.opened_files import opened_files
from aotensor_cli.reading.standard_input import is_standard_input
from aotensor_cli.terminal.failure import current_folder, explain

_MODULE: Final = "__aotensor_model__"
_MAX_SOURCE: Final = 1 << 24
"""Longest model, in bytes: a pipe or a device may never end."""


@dataclass(frozen=True)
class Model:
    """The functions of a model file, in order of definition.

    opened: the user's files that it opened or imported while it was loaded, without the model itself. names: what the
    file calls values that have no name of their own.
    """

    path: Path
    functions: tuple[Function, ...]
    opened: tuple[Path, ...]
    names: Mapping[Variable, str] = field(default_factory=dict)


def load_model(text: str, trainable: Sequence[str] = ()) -> Model:
    """Execute a model file and collect its Functions, or read an ONNX model or StableHLO text.

    trainable: patterns of initializers of an ONNX model that become shared variables.

    Raises: Refusal for a file that cannot be read or executed, that has no Function, or none of that name.
    """
    path, name = split_name(text)
    if path.suffix.lower() in SUFFIXES and path.is_file():
        return _imported(path, name, trainable)
    fixed = current_session()
    if fixed.dims or fixed.shapes:
        raise Refusal(
            f"{path}: --dim and --shape are supported only for ONNX models and StableHLO",
            "write the shapes in the Python file",
        )
    source = _read(path)
    refuse_other_kinds(path, source)
    with opened_files() as opened:
        namespace = _execute(path, source)
        functions = (*_collect(namespace), *_framework_functions(path, namespace))
    if not functions:
        raise Refusal(
            f"{path}: {NO_FUNCTION}",
            "define one with f = aotensor.function([x], y); an NLP, a model of PyMC and a function of PyTensor count",
            Exit.PROGRAM,
        )  # fmt: skip
    if name is not None:
        functions = _chosen(path, functions, namespace, name)
    return Model(path, functions, tuple(file for file in opened if file != path.absolute()), _named(namespace))


def _named(namespace: Mapping[str, object]) -> dict[Variable, str]:
    """First name → value of the assignments at the top level of the file."""
    found: dict[Variable, str] = {}
    for name, x in namespace.items():
        if isinstance(x, Variable) and x.owner is not None and not x.name and not name.startswith("_"):
            found.setdefault(x, name)
    return found


def _imported(path: Path, name: str | None, trainable: Sequence[str]) -> Model:
    with opened_files() as opened:
        f = function_of_file(path, current_session().dims, current_session().shapes, trainable)
    functions = (f,) if name is None else _chosen(path, (f,), {}, name)
    return Model(path, functions, tuple(file for file in opened if file != path.absolute()))


def _read(path: Path) -> bytes:
    """Read a model's text from a file or pipe, up to a size limit."""
    try:
        if path.is_dir():
            raise Refusal(f"{path}: this is a folder, not a file")
        with path.open("rb") as file:
            source = file.read(_MAX_SOURCE + 1)
    except FileNotFoundError:
        raise Refusal(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:
        reason = (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
        raise Refusal(f"{path}: cannot be read ({reason})") from error
    if len(source) > _MAX_SOURCE:
        raise Refusal(f"{path}: the file has more than {_MAX_SOURCE} bytes, so it is not a model")
    return source


def _execute(path: Path, source: bytes) -> dict[str, object]:
    """Execute the file and return its namespace. Its output goes to stderr, since stdout is for results."""
    module = ModuleType(_MODULE)
    module.__file__ = str(path)
    with _environment(path, module):
        try:
            exec(compile(source, str(path), "exec"), module.__dict__)
        except SyntaxError as error:
            raise Refusal(f"{_location(error, path)}: syntax error: {error.msg}", code=Exit.PROGRAM) from error
        except ValueError as error:
            if traceback.extract_tb(error.__traceback__)[-1].filename == __file__:
                # Python before 3.11.4 says so of null bytes
                raise Refusal(f"{path}: syntax error: {error}", code=Exit.PROGRAM) from error
            raise _refusal(path, error) from error
        except SystemExit as error:
            raise Refusal(f"{path}: the model ends the process with exit({error.code!r})", code=Exit.PROGRAM) from error
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise _refusal(path, error) from error
    return vars(module)


@contextlib.contextmanager
def _environment(path: Path, module: ModuleType) -> Iterator[None]:
    """What a script finds: its folder first in the search path, itself in `sys.modules` and `sys.argv`.

    What it changes of the process is put back: search path, arguments, streams, current folder.
    """
    argv, search_path, folder = sys.argv, sys.path[:], current_folder()
    sys.path.insert(0, str(Path.cwd() if is_standard_input(path) else path.resolve().parent))
    sys.modules[_MODULE], sys.argv = module, [str(path)]
    try:
        with _stdout_to_stderr():
            yield
    finally:
        sys.argv, sys.path[:] = argv, search_path
        if folder is not None:
            os.chdir(folder)


@contextlib.contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """Output inside the context goes to stderr, since stdout is for results, also by child processes and C libraries.

    Afterwards both streams are what they were, even if they were closed within.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    saved = [os.dup(1), os.dup(2)]
    talk, streams = os.fdopen(os.dup(2), "w", buffering=1, errors="backslashreplace"), (sys.stdout, sys.stderr)
    try:
        os.dup2(2, 1)
        with contextlib.redirect_stdout(talk):
            yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            talk.close()
        for number, handle in enumerate(saved, 1):
            os.dup2(handle, number)
            os.close(handle)
        for number, (name, stream) in enumerate(zip(("stdout", "stderr"), streams, strict=True), 1):
            is_closed = stream is not None and stream.closed
            setattr(sys, name, os.fdopen(os.dup(number), "w", buffering=1) if is_closed else stream)


def _location(error: SyntaxError, path: Path) -> str:
    """The position of a syntax error as text; null bytes and bad encodings have no line."""
    return f"{error.filename or path}:{error.lineno}" if error.lineno else str(error.filename or path)


def _refusal(path: Path, error: BaseException) -> Refusal:
    """The refusal for an exception of the model: the innermost line of the user's code and the message."""
    folder = str(path.resolve().parent)
    frames = [x for x in traceback.extract_tb(error.__traceback__) if x.filename == str(path) or _is_own(x, folder)]
    location = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else str(path)
    found = explain(error)
    if found.code is Exit.BUG and not found.title.startswith("pass "):
        return Refusal(f"{location}: {found.title.removeprefix('internal error: ')}", code=Exit.PROGRAM)
    return Refusal(f"{location}: {found.title}", found.hint, Exit.PROGRAM if found.code is Exit.USAGE else found.code)


def _is_own(frame: traceback.FrameSummary, folder: str) -> bool:
    return frame.filename.startswith(folder) and "site-packages" not in frame.filename


def _collect(namespace: dict[str, object]) -> tuple[Function, ...]:
    """Distinct Functions among the values; a Function without a name gets that of its variable.

    Those of nonlinear programs are among them, each with the name of the program in front.
    """
    found: list[Function] = []
    programs: list[NLP] = []
    for variable, value in namespace.items():
        if isinstance(value, NLP) and value not in programs:
            if not value.is_named:
                value.name = c_name(variable, (), "nlp")
            programs.append(value)
            found += value.functions
        if isinstance(value, Function) and not any(value is f for f in found):
            if not value.is_named:
                value.name = c_name(variable, (), "function")
            found.append(value)
    return tuple(found)


def _framework_functions(path: Path, namespace: dict[str, object]) -> tuple[Function, ...]:
    """Functions for what other frameworks have made, of those that the file itself has loaded.

    A model of PyMC gives `logp`, `dlogp` and `constrain`; with its variable's name in front where there are several.
    """
    found: list[Function] = []
    try:
        if "pytensor" in sys.modules:
            from aotensor.importers.pytensor.functions import functions_of

            found += functions_of(namespace).values()
        if "pymc" in sys.modules:
            from aotensor.importers.pymc import logp_functions, named_models

            models = named_models(namespace)
            for variable, model in models.items():
                prefix = f"{c_name(variable, (), 'model')}_" if len(models) > 1 else ""
                found += logp_functions(model, prefix=prefix)
    except NoCounterpart as error:
        raise Refusal(f"{path}: {without_counterpart(error)}", error.diagnostic.hint, Exit.PROGRAM) from error
    except AotensorError as error:
        raise _refusal(path, error) from error
    return tuple(found)


def _chosen(path: Path, functions: Sequence[Function], namespace: dict[str, object], name: str) -> tuple[Function, ...]:
    value = namespace.get(name)
    if isinstance(value, Function):
        return (value,)
    if isinstance(value, NLP):
        return value.functions
    for f in functions:
        if f.name == name:
            return (f,)
    names = [f.name for f in functions]
    raise Refusal(f"{path}: there is no Function {name}", similar(name, names) or f"it has {', '.join(names)}")
