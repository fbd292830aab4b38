"""The exceptions of the runtime; `aotensor.errors` re-exports them with those of the compiler.

AotensorError                              everything below; carries a Diagnostic
├── LibraryError                           a file that cannot be used as a library
│   ├── LibraryNotFound  (FileNotFoundError)   there is no such file
│   ├── DamagedLibrary                         truncated, or changed since it was built
│   ├── ForeignLibrary                         not built by aotensor, or for another kind of system
│   ├── TooNewLibrary                          built by an aotensor that this runtime does not know
│   ├── TooOldLibrary                          built by an aotensor whose libraries this runtime no longer reads
│   └── UnsupportedMachine                     for another architecture, or needs CPU features that are absent
├── ArgumentError                          a call that the signature does not allow
│   ├── ArgumentTypeError  (TypeError)         number of arguments, names, dtypes, ranks
│   ├── ArgumentValueError (ValueError)        sizes that do not match
│   │   ├── ArgumentLinAlgError (LinAlgError)      a matrix that is singular, not positive definite, ...
│   │   └── ArgumentConvergenceError (ArithmeticError)  a solver that must converge and did not
│   └── ArgumentIndexError (IndexError)        an index outside its axis
├── ToolError              (RuntimeError)      a tool is missing or failed, a temporary folder cannot be written
├── ChunkError                             a chunk of rows that a worker could not compute, by position and file
└── OutOfMemory            (MemoryError)       the library could not allocate its workspace
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from numpy.linalg import LinAlgError


@dataclass(frozen=True)
class Diagnostic:
    """The content of an error: a title, lines of facts, and at most one hint."""

    title: str
    lines: tuple[str, ...] = ()
    hint: str | None = None

    def __str__(self) -> str:
        text = [self.title, *(f"  {line}" for line in self.lines)]
        return "\n".join([*text, f"hint: {self.hint}"] if self.hint else text)


class AotensorError(Exception):
    """Base of every error that aotensor raises on purpose.

    `str(error)` is the whole diagnostic; `error.diagnostic` has it as data. is_located: it already names an op and
    its line.
    """

    is_located = False

    def __init__(self, title: str, *, lines: Iterable[str] = (), hint: str | None = None) -> None:
        self.diagnostic = Diagnostic(title, tuple(lines), hint)
        super().__init__(str(self.diagnostic))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by class and diagnostic, so that errors keep their data across processes."""
        return (_restore, (type(self), self.diagnostic))


def _restore(kind: type[AotensorError], diagnostic: Diagnostic) -> AotensorError:
    return kind(diagnostic.title, lines=diagnostic.lines, hint=diagnostic.hint)


class LibraryError(AotensorError):
    """A file that cannot be used as a library."""


class LibraryNotFound(LibraryError, FileNotFoundError):
    """The library file does not exist."""

    __str__ = AotensorError.__str__


class DamagedLibrary(LibraryError):
    """A library that is truncated or was changed after it was built."""


class ForeignLibrary(LibraryError):
    """A file that aotensor did not build, or that another kind of system uses."""


class TooNewLibrary(LibraryError):
    """A library built by a later aotensor than this runtime."""


class TooOldLibrary(LibraryError):
    """A library built by an earlier aotensor, in a format that this runtime no longer reads."""


class UnsupportedMachine(LibraryError):
    """A library for another architecture, or for CPU features that this machine lacks."""


class ArgumentError(AotensorError):
    """A call that the signature of the function does not allow."""


class ArgumentTypeError(ArgumentError, TypeError):
    """Too many or too few arguments, unknown names, wrong dtypes or ranks."""


class ArgumentValueError(ArgumentError, ValueError):
    """Sizes or values that do not match."""


class ArgumentLinAlgError(ArgumentValueError, LinAlgError):
    """A matrix without the requested factorisation or inverse."""


class ArgumentConvergenceError(ArgumentValueError, ArithmeticError):
    """A solver that must converge and did not."""


class ArgumentIndexError(ArgumentError, IndexError):
    """An index outside its axis."""


class ToolError(AotensorError, RuntimeError):
    """An external tool is missing or failed, or a folder for temporary files cannot be written."""

    def __init__(
        self,
        title: str,
        *,
        command: tuple[str, ...] = (),
        stderr: str = "",
        lines: Iterable[str] = (),
        hint: str | None = None,
    ) -> None:
        self.command, self.stderr = command, stderr
        detail = [f"command: {' '.join(command)}"] if command else []
        detail += stderr.strip().splitlines()[:8]
        super().__init__(title, lines=[*lines, *detail], hint=hint)


class ChunkError(AotensorError):
    """A chunk of rows that could not be read or computed: its position, files, worker and argument."""


class OutOfMemory(AotensorError, MemoryError):
    """The library could not allocate the memory that the call needs."""
