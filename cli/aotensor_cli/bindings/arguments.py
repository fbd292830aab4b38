"""Arguments of a binding: names that are valid in the language, and its types for our dtypes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from aotensor_cli.options import Refusal
from aotensor_runtime.abi import DTYPE_CODES
from aotensor_runtime.manifest import ArgumentSpec, FunctionSpec, OutputSpec
from aotensor_runtime.signature import kind_of
from aotensor_runtime.typed.parameters import parameter_names


@dataclass(frozen=True)
class Argument:
    """An input or output of a function.

    name: in the language. kind: the language's type of an element. first: position of its first extent among those of
    all arguments.
    """

    name: str
    kind: str
    value: ArgumentSpec | OutputSpec
    first: int

    @property
    def rank(self) -> int:
        return len(self.value.shape)

    @property
    def code(self) -> int:
        """The dtype code in array descriptors."""
        return DTYPE_CODES[self.value.dtype]

    @property
    def is_output(self) -> bool:
        return isinstance(self.value, OutputSpec)

    @property
    def is_allocated(self) -> bool:
        """Does the size of the argument depend on values, so that the call allocates it?"""
        return isinstance(self.value, OutputSpec) and self.value.is_allocated

    @property
    def about(self) -> str:
        """A line of documentation: `X: float64[n, p]`, the name in the model, and how the caller passes it."""
        notes = []
        if isinstance(self.value, ArgumentSpec) and self.value.default is not None:
            notes.append("state, held by the caller")
        if self.value.layout == "F" and self.rank > 1:
            notes.append("column-major, so that no copy is made")
        return f"{self.value.name}: {kind_of(self.value)}{f' ({chr(59).join(notes)})' if notes else ''}"


def arguments(
    language: str, spec: FunctionSpec, kinds: Mapping[str, str], most: int, named: Callable[[Iterable[str]], list[str]]
) -> list[Argument]:
    """The inputs of a function, then its outputs.

    kinds: dtype → the language's type. most: the highest rank that it has. named: distinct names of the language

    Raises: Refusal if the language cannot express an argument, with the names of function and argument
    """
    for value in (*spec.arguments, *spec.produced):
        where = f"{language}: {value.name} of {spec.name} is {kind_of(value)}"
        if not isinstance(value, ArgumentSpec | OutputSpec):
            raise Refusal(
                f"{where}, a sparse matrix, which the interface for {language} does not have",
                "compile a function of its entries, or use the C header, which has aotensor_sparse",
            )
        if value.dtype not in kinds:
            known = ", ".join(kinds)
            raise Refusal(
                f"{where}, and {language} has no type for {value.dtype}",
                f"cast it in the model to one of {known}",
            )
        if len(value.shape) > most:
            raise Refusal(f"{where}, and arrays of {language} have at most {most} axes", "reshape it in the model")
    names = named(parameter_names(spec)[len(spec.workspace_dims) :])
    values = spec.values
    firsts = accumulate((len(value.shape) for value in values), initial=0)
    return [Argument(name, kinds[x.dtype], x, first) for name, x, first in zip(names, values, firsts, strict=False)]


def refuse_lapack(language: str, spec: FunctionSpec, why: str) -> None:
    """Raises: Refusal for a function that calls LAPACK"""
    if spec.lapack:
        raise Refusal(
            f"{language}: {spec.name} needs LAPACK's {', '.join(spec.lapack)}, {why}",
            "use the interface for Fortran, or the C header, where the caller passes a table of LAPACK",
        )


def distinct(
    names: Iterable[str],
    taken: Collection[str] = (),
    longest: int = 200,
    key: Callable[[str], str] = str,
) -> list[str]:
    """Names cut to a length and followed by underscores where `key` of one is taken, or begins with an underscore.

    key: of two names that are the same in the language; str.lower where case makes no difference
    """
    used, found = {key(name) for name in taken}, []
    for name in names:
        clean = f"x{name}" if name.startswith("_") else name
        candidate, k = clean[:longest], 1
        while key(candidate) in used:
            k += 1
            candidate = f"{clean[: longest - len(str(k)) - 1]}_{k}" if k > 2 else f"{clean[: longest - 1]}_"
        used.add(key(candidate))
        found.append(candidate)
    return found


def wrapped(head: str, items: Sequence[str], tail: str, width: int, indent: str, end: str = "") -> list[str]:
    """`head` + items with commas between + `tail`, in lines of at most `width` columns that end with `end`."""
    lines, line = [], head
    for k, item in enumerate(items):
        text = f"{item}{'' if k == len(items) - 1 else ','}"
        gap = " " if k and line != indent else ""
        if len(line) + len(gap) + len(text) + len(tail) + len(end) > width and line != indent:
            lines.append(line + end)
            line, gap = indent, ""
        line += gap + text
    return [*lines, line + tail]
