"""The typed entry in C: types and names of its parameters."""

from __future__ import annotations

import errno
import hashlib
import re
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from aotensor_runtime.arrays.dtypes import DTYPES
from aotensor_runtime.signature import ArgumentSpec, FunctionSpec, OutputSpec, SparseValue
from aotensor_runtime.typed.patterns import constant_outputs, values_take_context


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


KEYWORDS: Final = _words("""
    alignas alignof and and_eq asm assert auto bitand bitor bool break case catch char char16_t char32_t
    char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue
    decltype default delete do double dynamic_cast else enum errno explicit export extern false float for friend
    goto i386 if inline int linux long main mutable namespace new noexcept not not_eq nullptr operator or or_eq
    private protected public register reinterpret_cast requires restrict return short signed sizeof static
    static_assert static_cast stderr stdin stdout struct switch template this thread_local throw true try typedef
    typeid typename typeof typeof_unqual union unix unsigned using virtual void volatile wchar_t while xor xor_eq
    """)
"""Keywords of C and C++, and lower-case macros of all programs."""

_MACROS: Final = (
    KEYWORDS
    | {*errno.errorcode.values(), *signal.Signals.__members__}
    | _words("""
    BIG_ENDIAN BUFSIZ BYTE_ORDER CPU_SETSIZE CSIGNAL DECIMAL_DIG DOMAIN EDEADLK EHWPOISON EOF EOPNOTSUPP
    EWOULDBLOCK FD_SETSIZE HUGE I INFINITY LITTLE_ENDIAN L_ctermid L_cuserid L_tmpnam MAXFLOAT MAX_CANON
    MAX_INPUT MINSIGSTKSZ NAN NFDBITS NGREG NSIG NULL NZERO OVERFLOW PDP_ENDIAN PIPE_BUF PLOSS P_tmpdir SIGCLD
    SIGIOT SIGPOLL SIGSTKFLT SIGSTKSZ SIGUNUSED SING TLOSS TSS_DTOR_ITERATIONS UNDERFLOW WCONTINUED WEOF WEXITED
    WNOHANG WNOWAIT WSTOPPED WUNTRACED complex imaginary math_errhandling noreturn sa_handler sa_sigaction
    sched_priority sigev_notify_attributes sigev_notify_function st_atime st_ctime st_mtime
    """)
)
_FAMILIES: Final = re.compile(
    r"(ADJ|ATOMIC|BUS|CLD|CLOCK|CLOCKS|CLONE|DBL|DEC\d*|EXIT|FE|FLT\d*|FOPEN|FP|FPE|HUGE|ILL|INT\w*|LC|LDBL|M|MATH|MOD|POLL"
    r"|NL|PTHREAD|REG|RENAME|RTSIG|SA|SCHED|SEEK|STDERR|STDIN|STDOUT|SEGV|SI|SIG|SIGEV|SS|STA|TIME|TIMER|TRAP|UINT\w*|WCHAR|WINT|ONCE)_[A-Z]\w*"
    r"|S_I[A-Z]+|__\w*|_[A-Z]\w*|(u_?)?int(_least|_fast)?\d+_t|u?int(max|ptr)_t|(size|ssize|ptrdiff|max_align|wint|float|double)_t"
    r"|CLOSE_RANGE_\w+|[FRWX]_OK|F_T?(LOCK|TEST)|F_ULOCK|L_(INCR|SET|XTND)"
    r"|[A-Z]\w*_(MAX|MIN|WIDTH|BIT)|(PRI|SCN)[a-zX]\w*|SNAN\w*|M_\d\w*|si_\w+"
)
"""Reserved words of ISO C, C++ and their headers in Linux's C library, which also declare those of POSIX."""

_PREDEFINED: Final = re.compile(r"__[A-Za-z0-9]\w*[A-Za-z0-9]__")


def is_reserved(name: str) -> bool:
    """True for keywords, types and names reserved by C or C++, and for macros without parameters of C's headers."""
    return (
        name in _MACROS
        or _PREDEFINED.fullmatch(name) is not None
        or (not name.endswith("_") and _FAMILIES.fullmatch(name) is not None)
    )


C_TYPES: Final = {name: record.c for name, record in DTYPES.items()}

Value: TypeAlias = ArgumentSpec | OutputSpec | SparseValue
"""A value of a function that its typed entry has parameters for."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the typed entry.

    type: of C, without `const` and `*`. is_pointer: the entry accepts its address. is_read_only: the entry does not
    write there. value: the input or output that it passes; None for context, dims and workspace.
    """

    type: str
    name: str
    is_pointer: bool = True
    is_read_only: bool = False
    value: Value | None = None

    def __str__(self) -> str:
        """Its C declaration."""
        return f"{'const ' * self.is_read_only}{self.type} {'*' * self.is_pointer}{self.name}"


def entry_parameters(spec: FunctionSpec, of_values: bool = False) -> list[Parameter]:
    """The parameters of the typed entry, in order.   of_values: for the entry that writes values only"""
    names = parameter_names(spec)
    takes_context = values_take_context(spec) if of_values else spec.takes_context
    parameters = [Parameter("aotensor_context", "context")] if takes_context else []
    parameters += [Parameter("int64_t", name, is_pointer=False) for name in names[: len(spec.typed_dims)]]
    rest = iter(names[len(spec.workspace_dims) :])
    parameters += [Parameter(_c_type(x), next(rest), is_read_only=True, value=x) for x in spec.arguments]
    known = constant_outputs(spec) if of_values else ()
    parameters += [
        Parameter(C_TYPES[x.dtype] if x in known else _c_type(x), next(rest), value=x) for x in spec.produced
    ]
    return [*parameters, Parameter("void", "workspace")]


def typed_parameters(spec: FunctionSpec, of_values: bool = False) -> list[str]:
    """The C declarations of the typed entry's parameters.   of_values: as `entry_parameters`"""
    return [str(parameter) for parameter in entry_parameters(spec, of_values)]


def _c_type(value: Value) -> str:
    """The C type that the typed entry gets the address of."""
    if isinstance(value, SparseValue):
        return "aotensor_sparse"
    is_allocated = isinstance(value, OutputSpec) and value.is_allocated
    return "aotensor_array" if is_allocated else C_TYPES[value.dtype]


def parameter_names(spec: FunctionSpec) -> Sequence[str]:
    """C names of dims, inputs and outputs, in this order: distinct identifiers that are neither keywords nor macros.

    Dims are those of the workspace entry, which begin with those of the typed one.
    """
    taken = {"context", "workspace"}
    names = []
    for kind, name in _wanted(spec):
        clean = "".join(ch if ch.isascii() and (ch.isalnum() or ch == "_") else "_" for ch in name)
        candidate = f"x_{clean}" if not clean or clean[0].isdigit() else clean
        if candidate in taken and kind == "output":
            candidate += "_out"
        while candidate in taken or is_reserved(candidate):
            candidate += "_"
        taken.add(candidate)
        names.append(candidate)
    return names


def _wanted(spec: FunctionSpec) -> Iterable[tuple[str, str]]:
    yield from (("dim", name) for name in spec.workspace_dims)
    yield from (("input", value.name) for value in spec.arguments)
    yield from (("output", value.name) for value in spec.produced)


def c_suffix(name: str) -> str:
    """The name of a library as a suffix of an identifier; distinct names have distinct suffixes."""
    clean = re.sub(r"\W", "_", name, flags=re.ASCII)
    return clean if clean == name else f"{clean}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
