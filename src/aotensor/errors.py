"""The exceptions of aotensor.

AotensorError                          everything below; carries a Diagnostic
├── GraphError                         the user's program is wrong
│   ├── GraphTypeError   (TypeError)       dtypes, ranks or kinds that do not go together
│   ├── GraphValueError  (ValueError)      sizes or options that do not go together
│   │   ├── GraphLinAlgError (LinAlgError)     a matrix that is singular, not positive definite, ...
│   │   ├── GraphConvergenceError (ArithmeticError)  a solver that must converge and did not
│   │   ├── GraphOverflowError (OverflowError) a number or a size that 64 bits do not hold
│   │   └── ScheduleError                  a schedule that does not compute what its function does
│   ├── GraphIndexError  (IndexError)      an index outside its axis
│   ├── UnusedInputError (GraphTypeError)  an input that no output needs
│   ├── MissingInputError(GraphTypeError)  an output needs a variable that is not an input
│   ├── MissingRuleError (NotImplementedError) an op without the rule that was asked for
│   ├── UnsupportedIndexError (NotImplementedError) a row or column of a sparse matrix alone
│   ├── UnsupportedOptionError (NotImplementedError) an option, or a form of call, that is not there
│   ├── DisconnectedInputError (ValueError)   the cost does not depend on a wrt
│   └── NullTypeGradError      (TypeError)    a gradient that is undefined or not implemented
├── DisagreementError    (AssertionError)  compiled code and the reference give different values
├── UnsupportedError     (TypeError)       a dtype, op or option that cannot be compiled
│   ├── OptionError  (GraphValueError)         an unknown target, CPU or option, or two that exclude each other
│   └── CrossingError                          an op that needs rows of several chunks at once
├── InternalError        (RuntimeError)    our own bug
├── GradientError                      a derivative that does not agree with finite differences
└── LibraryError, ArgumentError, ToolError, ...   see aotensor_runtime.errors (re-exported here)
"""

from __future__ import annotations

from typing import Any

from numpy.linalg import LinAlgError

from aotensor_runtime.errors import (
    AotensorError,
    ArgumentConvergenceError,
    ArgumentError,
    ArgumentIndexError,
    ArgumentLinAlgError,
    ArgumentTypeError,
    ArgumentValueError,
    ChunkError,
    DamagedLibrary,
    Diagnostic,
    ForeignLibrary,
    LibraryError,
    LibraryNotFound,
    OutOfMemory,
    ToolError,
    TooNewLibrary,
    TooOldLibrary,
    UnsupportedMachine,
)

__all__ = [
    "AotensorError",
    "ArgumentConvergenceError",
    "ArgumentError",
    "ArgumentIndexError",
    "ArgumentLinAlgError",
    "ArgumentTypeError",
    "ArgumentValueError",
    "ChunkError",
    "CrossingError",
    "DamagedLibrary",
    "Diagnostic",
    "DisagreementError",
    "DisconnectedInputError",
    "ForeignLibrary",
    "GradientError",
    "GraphConvergenceError",
    "GraphError",
    "GraphIndexError",
    "GraphLinAlgError",
    "GraphOverflowError",
    "GraphTypeError",
    "GraphValueError",
    "InternalError",
    "LibraryError",
    "LibraryNotFound",
    "MissingInputError",
    "MissingRuleError",
    "NullTypeGradError",
    "OptionError",
    "OutOfMemory",
    "ScheduleError",
    "TooNewLibrary",
    "TooOldLibrary",
    "ToolError",
    "UnsupportedError",
    "UnsupportedIndexError",
    "UnsupportedMachine",
    "UnsupportedOptionError",
    "UnusedInputError",
]


class GraphError(AotensorError):
    """The user's program is wrong."""


class GraphTypeError(GraphError, TypeError):
    """Types, ranks or kinds of values that do not go together."""


class GraphValueError(GraphError, ValueError):
    """Sizes or options that do not go together."""


class GraphLinAlgError(GraphValueError, LinAlgError):
    """A matrix without the factorisation or the inverse that is asked for."""


class GraphConvergenceError(GraphValueError, ArithmeticError):
    """A solver that must converge and did not."""


class GraphOverflowError(GraphValueError, OverflowError):
    """A number or a size that 64 bits do not hold."""


class ScheduleError(GraphValueError):
    """A schedule that does not belong to a function, breaks a dependence, or asks a machine for what it lacks."""


class GraphIndexError(GraphError, IndexError):
    """An index outside its axis."""


class KernelError(GraphTypeError):
    """A kernel that uses what its language lacks, mixes dtypes, or writes memory that iterations may share."""


class UnusedInputError(GraphTypeError):
    """An input that no output needs, or that is given twice."""


class MissingInputError(GraphTypeError):
    """An output depends on a variable that is not among the inputs."""


class MissingRuleError(GraphError, NotImplementedError):
    """An op without the derivative rule that was asked for."""


class UnsupportedIndexError(GraphError, NotImplementedError):
    """A form of indexing whose result would be a sparse vector."""


class UnsupportedOptionError(GraphError, NotImplementedError):
    """An option, or a form of call, that is not there."""


class DisconnectedInputError(GraphError, ValueError):
    """The cost does not depend on a variable that its gradient is asked for."""


class NullTypeGradError(GraphError, TypeError):
    """A gradient that is undefined or not implemented was asked for."""


class DisagreementError(AotensorError, AssertionError):
    """Compiled code and the reference give different values: found by a call in DEBUG_MODE."""


class UnsupportedError(AotensorError, TypeError):
    """A dtype, op or option that cannot be compiled: which, at what stage, and what would help."""


class OptionError(UnsupportedError, GraphValueError):
    """A target, CPU, CPU feature or option that does not exist, or two options that exclude each other."""


class CrossingError(UnsupportedError):
    """An op that needs rows of several chunks at once, where a function is split over them."""


class InternalError(AotensorError, RuntimeError):
    """A bug of aotensor: a pass that broke its form, a case that its author held impossible."""


class GradientError(AotensorError):
    """An analytic derivative that does not agree with finite differences.

    arg: position of the argument; err_pos: flat position in it; shape: its shape; val1: analytic; val2: numeric.
    """

    def __init__(
        self,
        arg: int,
        err_pos: int,
        shape: tuple[int, ...],
        val1: float,
        val2: float,
        abs_err: float,
        rel_err: float,
        abs_tol: float,
        rel_tol: float,
    ) -> None:
        self.arg, self.err_pos, self.shape = arg, err_pos, shape
        self.val1, self.val2 = val1, val2
        self.abs_err, self.rel_err, self.abs_tol, self.rel_tol = abs_err, rel_err, abs_tol, rel_tol
        super().__init__(
            f"argument {arg}, element {err_pos} of shape {shape}: analytic {val1:g}, numeric {val2:g}",
            lines=[
                f"absolute error {abs_err:g}, tolerance {abs_tol:g}",
                f"relative error {rel_err:g}, tolerance {rel_tol:g}",
            ],
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return GradientError, (
            self.arg, self.err_pos, self.shape, self.val1, self.val2,
            self.abs_err, self.rel_err, self.abs_tol, self.rel_tol,
        )  # fmt: skip
