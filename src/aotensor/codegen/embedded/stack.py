"""Bound on the stack of a library call: the deepest call chain, with the frame sizes of LLVM's code generator.

    typed entry → entry.typed → entry.run → f.run → f.kernel → its loops

Frame sizes are LLVM's, which it reports as warnings (`warn-stack-size`). Arrays of a call that a fixed function keeps
on the stack are bounded by their number in the function's table; strided copies call themselves for each axis. Calls
through the table are those of the function's adapters and of the fixed functions for matrices. Functions outside the
library are not counted: callbacks, memcpy, memset, and a compiler's runtime for missing instructions.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from aotensor.codegen.embedded.math import OWN_MATH
from aotensor.codegen.entry.names import Symbols
from aotensor.codegen.entry.tables import CHECK_MATRICES, GIVE_MATRIX, TAKE_MATRICES
from aotensor.codegen.llvm import ModuleRef
from aotensor.codegen.machine import Machine, has_many_loops
from aotensor.errors import InternalError
from aotensor_runtime.manifest import FunctionSpec

_RED_ZONE: Final = 128  # the red zone of x86-64: bytes below the stack pointer that a leaf function may use
_ALIGNMENT: Final = 16
_EMIT: Final = """
import sys
from llvmlite import binding as b
b.initialize_all_targets(); b.initialize_all_asmprinters(); b.initialize_native_asmparser()
triple, cpu, features, level, abi, is_off = sys.argv[1:]
b.set_option("aotensor", f"-disable-lsr={is_off}")
machine = b.Target.from_triple(triple).create_target_machine(
    cpu=cpu, features=features, opt=int(level), reloc="pic", codemodel="default", abiname=abi)
machine.emit_object(b.parse_assembly(sys.stdin.read()))
"""
_DEFINITION: Final = re.compile(r'^define [^\n]*?@"?([\w.$-]+)"?\(.*$', re.MULTILINE)
_FRAME: Final = re.compile(r"stack frame size \((\d+)\) exceeds limit \(\d+\) in function '([^']*)'")
_IN_PARENTHESES: Final = re.compile(r"\b(range|dereferenceable|dereferenceable_or_null|nofpclass|captures)\([^()]*\)")
_ADDRESS: Final = re.compile(r'\bptr (?:\w+ )*@"?([\w.$-]+)"?')
_BY_AXIS: Final = "entry.copy"
"""The only function that calls itself, once for each axis."""
_CALL: Final = re.compile(r'\bcall\b[^(]*?([@%])"?([\w.$-]+)"?\(')
_ALLOCA: Final = re.compile(r"= alloca (\w+), i\d+ %")
_SIZES: Final = {"i8": 1, "i32": 4, "i64": 8, "ptr": 8, "double": 8}


@dataclass
class _Function:
    """The stack use of one function. direct: names of callees. indirect: does it call function pointers?

    growing: bytes per element of each array on its stack. arguments: bound on the bytes of a call's arguments.
    """

    direct: set[str] = field(default_factory=set)
    indirect: bool = False
    growing: list[int] = field(default_factory=list)
    arguments: int = 0


def stack_bounds(machine: Machine, module: ModuleRef, specs: Sequence[FunctionSpec], prefix: str) -> dict[str, int]:
    """An upper bound on the stack use, in bytes, of a call of each function by its typed or uniform entry.

    module: the whole library, optimised.

    Raises: InternalError for recursion, which libraries do not have.
    """
    text = str(module)
    graph = _Graph(_functions(text), _frames(machine, text), machine)
    return {spec.name: graph.bound(spec, Symbols.for_function(prefix, spec.name)) for spec in specs}


@dataclass
class _Graph:
    functions: Mapping[str, _Function]
    frames: Mapping[str, int]
    machine: Machine

    def bound(self, spec: FunctionSpec, symbols: Symbols) -> int:
        adapters = [f"{spec.name}.run", f"{spec.name}.extents_of", TAKE_MATRICES, CHECK_MATRICES, GIVE_MATRIX]
        ranks = sum(len(value.shape) for value in spec.values)
        counts = ranks + 1, len(spec.values), len(spec.dims), 2 * len(spec.values)
        below: dict[str, int] = {}
        inner = max(
            (self._depth(name, max(counts), 0, below) for name in adapters if name in self.functions), default=0
        )
        above: dict[str, int] = {}
        entries = [self._depth(name, max(counts), inner, above) for name in (symbols.typed, symbols.uniform)]
        math = max((self._depth(name, 0, 0, {}) for name in OWN_MATH if name in self.functions), default=0)
        is_red = self.machine.triple.startswith("x86_64") and "windows" not in self.machine.triple
        return max(entries) + math + (_RED_ZONE if is_red else 0)

    def _depth(self, name: str, count: int, inner: int, known: dict[str, int]) -> int:
        """The stack in bytes of a function and its callees.

        count: elements of its arrays. inner: bytes of indirect callees.
        """
        if name not in self.functions:
            return 0
        if name in known:
            if known[name] < 0:
                raise InternalError(f"stack: {name} calls itself")
            return known[name]
        known[name] = -1
        function, word = self.functions[name], 8 if "64" in self.machine.triple.partition("-")[0] else 4
        own = self.frames.get(name, 0) + word  # and the return address
        if function.growing:
            own += sum(size * count + _ALIGNMENT for size in function.growing) + 8 * function.arguments
        if name == _BY_AXIS:
            own *= count
        others = function.direct - ({name} if name == _BY_AXIS else set())
        deepest = max((self._depth(callee, count, inner, known) for callee in others), default=0)
        known[name] = -(-own // word) * word + max(deepest, inner if function.indirect else 0)
        return known[name]


def _functions(text: str) -> dict[str, _Function]:
    found: dict[str, _Function] = {}
    for match in _DEFINITION.finditer(text):
        body = text[match.end() : text.index("\n}", match.end())]
        function = found[match[1]] = _Function()
        for line in _IN_PARENTHESES.sub("", body).splitlines():
            if call := _CALL.search(line):
                function.arguments = max(function.arguments, line.count(",") + 1)
                if call[1] == "%":
                    function.indirect = True
                else:
                    function.direct.update((call[2], *_ADDRESS.findall(line)))  # what is passed is called, too
            elif alloca := _ALLOCA.search(line):
                function.growing.append(_SIZES[alloca[1]])
    return found


def _frames(machine: Machine, text: str) -> dict[str, int]:
    """Function → frame size in bytes, without empty frames.

    LLVM reports frame sizes on stderr, so this runs in a separate process.
    """
    marked = _DEFINITION.sub(_with_warning, text)
    arguments = [
        machine.triple,
        machine.cpu,
        machine.features,
        str(machine.opt_level),
        machine.abi,
        str(has_many_loops(text)).lower(),
    ]
    done = subprocess.run(
        [sys.executable, "-c", _EMIT, *arguments], input=marked, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise InternalError("stack: LLVM does not tell the frames", lines=done.stderr.strip().splitlines()[-3:])
    return {name: int(size) for size, name in _FRAME.findall(done.stderr)}


def _with_warning(match: re.Match[str]) -> str:
    """The first line of a function definition with the attribute for stack warnings inserted before its metadata."""
    head, mark, metadata = match[0].removesuffix("{").partition(" !")
    return f'{head} "warn-stack-size"="0"{mark}{metadata}{{'
