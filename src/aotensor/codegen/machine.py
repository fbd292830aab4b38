"""The target machine, with LLVM's optimiser and code generator for it."""

from __future__ import annotations

import difflib
import re
import subprocess
import sys
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import Any, Final

from aotensor.codegen.calls.lanes import inline_lane_functions
from aotensor.codegen.conditional_loops import mark_conditional_loops
from aotensor.codegen.llvm import Module, ModuleRef, binding
from aotensor.codegen.targets.systems import canonical, similar_target
from aotensor.errors import InternalError, OptionError
from aotensor.passes.scalar_math.table import is_lane_function
from aotensor.passes.target import Target

# Intel CPUs from Ice Lake on. LLVM prefers 256 bits there; an exp-like polynomial then took 1.4 times as long on 1e6
# float64 and 1.06 times on 1e6 float32 (best of 15, one core of an Emerald Rapids Xeon)
_WIDE_CPUS: Final = (
    "icelake-client", "icelake-server", "rocketlake", "tigerlake",
    "sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d", "diamondrapids", "x86-64-v4",
)  # fmt: skip
_WIDE_FEATURE: Final = "+avx512vbmi2"  # was introduced with the first of them
_PREFER_512: Final = "-prefer-256-bit"
# Intel CPUs whose gathers read two lanes a cycle, and need no microcode against CVE-2022-40982, as those before do.
# With gathers under masks throughout, A·x took 0.83 (banded), 0.90 and 0.97 times as long (one core of such a Xeon).
# A virtual machine may go by an older name: float16 arithmetic came with the first of them
_FAST_GATHER_CPUS: Final = ("sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d", "diamondrapids")
_FAST_GATHER_FEATURE: Final = "+avx512fp16"
# What Linux distributions are built for, and WebAssembly 2.0 has, where LLVM assumes less. Sums of exponentials of 1e5
# numbers and their gradient took 2.4 ms in Node 20 without vectors, 1.3 ms with them (Zen 4)
_BASELINE: Final = {
    "riscv64": "+m,+a,+f,+d,+c",
    "wasm32": "+simd128,+bulk-memory,+nontrapping-fptoint,+sign-ext",
}
# Features whose removal, or addition, changes in which registers C passes numbers: LLVM ends the process, or makes code
# that callers cannot call
_CONVENTION: Final = {
    "x86_64": frozenset({"-sse", "-sse2", "-64bit", "+soft-float"}),
    "aarch64": frozenset({"-fp-armv8", "-neon"}),
    "riscv64": frozenset({"-f", "-d"}),
}
_FEATURES: Final = re.compile(r"[+-][\w.-]+(,[+-][\w.-]+)*")

# Makes code for one empty function: LLVM ends the process if CPU and triple do not go together
_PROBE: Final = """
import sys
from llvmlite import binding as b
b.initialize_all_targets(); b.initialize_all_asmprinters()
machine = b.Target.from_triple(sys.argv[1]).create_target_machine(cpu=sys.argv[2], features=sys.argv[3])
machine.emit_object(b.parse_assembly('target triple = "%s"\\ndefine void @f() { ret void }' % sys.argv[1]))
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """A target: LLVM triple, CPU name, CPU features as `+a,-b`, the optimisation level 0 to 3.

    for_size: optimise for size instead of speed?
    """

    triple: str
    cpu: str
    features: str
    opt_level: int = 3
    for_size: bool = False

    @staticmethod
    def host(opt_level: int = 3) -> Machine:
        """The machine of this process, with every feature of its CPU."""
        return Machine.parse(opt_level=opt_level)

    @staticmethod
    def parse(
        triple: str | None = None,
        cpu: str | None = None,
        features: str | None = None,
        opt_level: int = 3,
        for_size: bool = False,
    ) -> Machine:
        """Create a machine from a user's options.

        triple: as for LLVM and clang; by default this machine's. cpu: "host", "generic" or LLVM's name; by default
        host, and generic for another architecture. features: `+avx2,-fma`, in addition to those of the CPU.

        Raises: OptionError for a triple that LLVM or aotensor does not support, and for an unknown CPU, feature or
        level.
        """
        if opt_level not in range(4):
            raise OptionError(f"the optimisation level must be 0, 1, 2 or 3, not {opt_level}")
        if for_size and opt_level < _PIPELINE:
            hint = f"leave out one of them: small code is made at levels {_PIPELINE} and 3"
            raise OptionError(f"opt_size is not supported at optimisation level {opt_level}", hint=hint)
        if features and not _FEATURES.fullmatch(features):
            raise OptionError(f"cpu features {features!r} are not understood", hint="write them as +avx2,-fma")
        if "" in (triple, cpu):
            raise OptionError("the name of the target or CPU is empty", hint="leave it out for this machine's")
        target = _checked_triple(canonical(triple)) if triple else binding.get_default_triple()
        native = _architecture(target) == _architecture(binding.get_default_triple())
        changed = _CONVENTION.get(_architecture(target), frozenset()) & set((features or "").split(","))
        if changed:
            found = " and ".join(sorted(changed))
            raise OptionError(
                f"cpu features {features!r}: {found} would change the calling convention of {target}",
                hint=f"leave out {found}",
            )
        name = cpu or ("host" if native else "generic")
        if name == "host" and not native:
            raise OptionError(
                f"cpu host is the CPU of this machine, which cannot run code for {target}",
                hint="use generic or name one",
            )
        if name == "host":
            name, known = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
        else:
            known = _BASELINE.get(_architecture(target), "") if name == "generic" else ""
        wide = name in _WIDE_CPUS or _WIDE_FEATURE in known.split(",")
        if features or (cpu not in (None, "host", "generic")):
            _check_cpu(target, name, features or "")
        every = [known, _PREFER_512 if wide else "", features or ""]
        return Machine(target, name, ",".join(part for part in every if part), opt_level, for_size)

    def is_host(self, cpu: str | None) -> bool:
        """Does `cpu` mean this machine's CPU?"""
        return cpu in (None, "host") and has_assembler(self.triple)

    @property
    def abi(self) -> str:
        """The name of the calling convention; empty if the triple determines it."""
        return _hard_float_abi(self.triple, self.features)

    @property
    def comment(self) -> str:
        """The characters that start a comment in the target's assembly."""
        return {"aarch64": "//", "arm64": "//", "arm": "@", "armv7": "@"}.get(self.triple.partition("-")[0], "#")

    @property
    def vector_bits(self) -> int:
        """The width of the vector registers that loops are vectorized for, in bits."""
        return _vector_bits(self)

    @property
    def has_half(self) -> bool:
        """Does the CPU have instructions that convert between float16 and float32?"""
        return _has_half(self)

    @property
    def facts(self) -> Target:
        """The properties of the machine that passes on loops use."""
        bits = self.vector_bits
        has_tables = bits == 512 and has_assembler(self.triple)
        known = self.features.split(",")
        fast_gathers = self.cpu in _FAST_GATHER_CPUS or _FAST_GATHER_FEATURE in known
        return Target(
            has_masks=bits == 512,
            has_slow_gathers=not fast_gathers,
            has_tables=has_tables,
            register_bits=bits,
            blas_work=_BLAS_WORK[bits],
        )

    def data_layout(self) -> str:
        """LLVM's data layout string of the target."""
        return str(self.target_machine().target_data)

    def optimise(
        self, *modules: Module | str, exported: Container[str] | None = None, shared: Container[str] = ()
    ) -> ModuleRef:
        """Link modules into one and run LLVM's default pipeline, O2 for level 3. `str(...)` of the result is LLVM IR.

        exported: if given, other hidden definitions become internal after linking. shared: exported symbols that other
        objects of a program may define, too; the linker then keeps one definition.

        Raises: InternalError if LLVM finds the module malformed.
        """
        _initialise()
        try:
            context = binding.create_context()
            for module in modules:
                if not isinstance(module, str):
                    mark_conditional_loops(module)
            texts = [str(module) for module in modules]
            parsed, *others = [binding.parse_assembly(text, context) for text in texts]
            for other in others:
                parsed.link_in(other)
            parsed.verify()
        except RuntimeError as error:
            raise InternalError("LLVM refuses the module", lines=str(error).splitlines()) from error
        if exported is not None:
            for function in parsed.functions:
                if function.is_declaration or is_lane_function(function.name):
                    continue
                if function.name not in exported:
                    function.visibility, function.linkage = "default", "internal"
                elif function.name in shared:
                    function.linkage = "weak_any"
            for variable in parsed.global_variables:
                if variable.visibility.name == "hidden" and not variable.is_declaration:
                    variable.visibility, variable.linkage = "default", "internal"
        options = binding.create_pipeline_tuning_options(min(self.opt_level, _PIPELINE))
        options.loop_vectorization = self.opt_level >= 2
        options.loop_interleaving = self.opt_level >= 2 and not self.for_size
        options.slp_vectorization = self.opt_level >= 2 and max(map(_longest_block, texts)) <= _LONGEST_BLOCK
        options.loop_unrolling = self.opt_level >= 1 and not self.for_size
        builder = binding.create_pass_builder(self.target_machine(), options)
        builder.getModulePassManager().run(parsed, builder)
        return inline_lane_functions(parsed, builder)

    def assembly(self, module: ModuleRef) -> str:
        """The assembly text of an optimised module."""
        with _loop_strength_reduction(module):
            return str(self.target_machine().emit_assembly(module))

    def object_code(self, module: ModuleRef) -> bytes:
        """The object file of an optimised module, position independent."""
        with _loop_strength_reduction(module):
            return bytes(self.target_machine().emit_object(module))

    def target_machine(self) -> Any:
        """A new target machine object of llvmlite. Objects of one that is shared have other bytes now and then."""
        _initialise()
        return binding.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu,
            features=self.features,
            opt=self.opt_level,
            reloc="pic",
            codemodel="default",
            abiname=self.abi,
        )


_BLAS_WORK: Final = {128: 128**3, 256: 1 << 33, 512: 1 << 33}
"""By vector width, since BLAS detects the processor at run time (decision 0004)."""

_PIPELINE: Final = 2
"""LLVM's O3 does more unswitching, unrolling and inlining: twice the time for an LSTM, and no benchmark runs faster."""

_LONGEST_BLOCK: Final = 1000
"""Largest basic block, in instructions, that LLVM's SLP vectorizer runs on: it would be half of LLVM's time for
3000."""


def _longest_block(text: str) -> int:
    """The number of lines of the longest basic block of a module."""
    labels = [match.start() for match in re.finditer(r"^(?:[\w\".$-]+:|})$", text, re.MULTILINE)]
    return max((text.count("\n", start, end) for start, end in pairwise(labels)), default=0)


_MANY_LOOPS: Final = 100
_options = Lock()


def has_many_loops(text: str) -> bool:
    """Does a module have too many loops for LLVM's loop strength reduction?"""
    return len(re.findall(r"br .*!llvm\.loop", text)) > _MANY_LOOPS


@contextmanager
def _loop_strength_reduction(module: ModuleRef) -> Iterator[None]:
    """Context manager: LLVM's loop strength reduction is enabled unless the module has many loops.

    The pass compares every address with every loop: 4 of 4.6 s of code generation for 355 loops, for a gain of a few
    percent in short loops. The option is global to the process, so one module at a time.
    """
    is_off = has_many_loops(str(module))
    with _options:
        binding.set_option("aotensor", f"-disable-lsr={str(is_off).lower()}")
        yield


@cache
def _initialise() -> None:
    """Register LLVM's targets, once per process."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    binding.initialize_native_asmparser()


def has_assembler(triple: str) -> bool:
    """Can inline assembly be used? llvmlite only has the parser for the architecture that it runs on."""
    return triple.partition("-")[0] == str(binding.get_default_triple()).partition("-")[0]


@cache
def _vector_bits(machine: Machine) -> int:
    """The width of vector registers, found by a query of LLVM: registers in which it adds two vectors of 512 bits."""
    probe = (
        "define <16 x float> @f(<16 x float> %a, <16 x float> %b) { %c = fadd <16 x float> %a, %b ret <16 x float> %c }"
    )
    text = machine.assembly(
        binding.parse_assembly(f'target triple = "{machine.triple}"\n{probe}', binding.create_context())
    )
    return 512 if "%zmm" in text and _PREFER_512 in machine.features else 256 if "%ymm" in text else 128


@cache
def _has_half(machine: Machine) -> bool:
    """Query LLVM for float16 instructions: without them, it calls a function of the compiler runtime."""
    probe = """
define <4 x float> @f(<4 x i16> %a) { %b = bitcast <4 x i16> %a to <4 x half>
  %c = fpext <4 x half> %b to <4 x float> ret <4 x float> %c }
define <4 x i16> @g(<4 x float> %a) { %b = fptrunc <4 x float> %a to <4 x half>
  %c = bitcast <4 x half> %b to <4 x i16> ret <4 x i16> %c }
"""
    module = binding.parse_assembly(f'target triple = "{machine.triple}"\n{probe}', binding.create_context())
    return not re.search(r"__\w*(hf|h2f|f2h)", machine.assembly(module))


def _architecture(triple: str) -> str:
    return str(binding.get_triple_parts(triple).Arch)


def _hard_float_abi(triple: str, features: str) -> str:
    """RISC-V's calling convention, which depends on floating-point registers; empty for other targets."""
    registers = set(features.split(","))
    integers = {"riscv64": "lp64", "riscv32": "ilp32"}.get(_architecture(triple))
    if integers is None:
        return ""
    return f"{integers}{'d' if '+d' in registers else 'f' if '+f' in registers else ''}"


@cache
def _checked_triple(triple: str) -> str:
    _initialise()
    try:
        machine = binding.Target.from_triple(triple).create_target_machine(reloc="pic", codemodel="default")
    except RuntimeError as error:
        raise OptionError(f"target {triple} is not known to LLVM", hint=similar_target(triple)) from error
    if str(machine.target_data).startswith("E"):
        raise OptionError(f"target {triple} is big-endian", hint="only little-endian machines are supported")
    return triple


@cache
def _check_cpu(triple: str, cpu: str, features: str) -> None:
    """Check a CPU by a compilation in a separate process, since LLVM only warns on stderr, or aborts."""
    probe = _probe(triple, cpu, features)
    unknown = re.findall(r"'([^']*)' is not a recognized (processor|feature)", probe.stderr)
    for name, kind in unknown:
        word = "cpu" if kind == "processor" else "cpu feature"
        raise OptionError(f"{word} {name} is unknown for {triple}", hint=_similar_names(triple, name, kind))
    if probe.returncode:
        lines = probe.stderr.strip().splitlines()[-1:]
        raise OptionError(f"cpu {cpu} with features {features or 'none'} is not valid for {triple}", lines=lines)


def _similar_names(triple: str, name: str, kind: str) -> str:
    """A hint with LLVM's names of CPUs and features that are similar to `name`, or where to find all.

    kind: as LLVM calls it, `processor` or `feature`
    """
    known = known_names(triple)
    if name == "native":  # as other compilers call it
        return "did you mean host?"
    close = difflib.get_close_matches(name.lstrip("+-"), (*known.cpus, *known.features), cutoff=0.75)
    if close:
        return f"did you mean {' or '.join(close)}?"
    if kind == "processor":
        return f"there are host, generic, {', '.join(known.cpus)}"
    return f"`llc -mtriple={triple} -mattr=help` lists {len(known.features)} features"


@dataclass(frozen=True, slots=True)
class Names:
    """LLVM's names of the CPUs and the CPU features of a target."""

    cpus: tuple[str, ...]
    features: tuple[str, ...]


def known_names(triple: str | None = None) -> Names:
    """LLVM's names for a target, by default this machine's. Raises: OptionError for an unknown target."""
    target = _checked_triple(canonical(triple)) if triple else str(binding.get_default_triple())
    cpus, _, features = _probe(target, "help", "").stderr.partition("features for this target")
    return Names(*(tuple(re.findall(r"^  (\S+) +- ", text, re.MULTILINE)) for text in (cpus, features)))


def _probe(triple: str, cpu: str, features: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _PROBE, triple, cpu, features], capture_output=True, text=True, check=False
    )
