"""One compilation with all its possible results: every stage, every kind of file, and the time of each step."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

from aotensor.codegen.library import Library
from aotensor.codegen.llvm import ModuleRef
from aotensor.codegen.targets.javascript import module_text, types_text
from aotensor.codegen.targets.link import Linked
from aotensor.codegen.targets.systems import WASM, system_of
from aotensor.driver.definition import Definition
from aotensor.driver.recipe import Lowered, Options, emit, lower, make_library
from aotensor.driver.report import Report
from aotensor.driver.snapshots import Snapshots
from aotensor.driver.stages import FORMS, IR_STAGES, WEIGHTS
from aotensor.driver.text.c_source import c_source, refuse_weights
from aotensor.driver.text.kernel_text import kernel_text
from aotensor.errors import OptionError
from aotensor.ir.context import generic_text
from aotensor.ir.location import lines_of
from aotensor_runtime.manifest import Manifest


class Build:
    """The compilation of functions to a library called `name`; each step runs when its result is first needed.

    seconds: wall time of every step done so far, in order; those of the passes are in `lowered.records`.
    begin: called with the name of each step when it starts. locations: print the source location of operations.
    generic: print nests in MLIR's generic form. snapshots: IR between steps, to be kept. report: loops and memory,
    as recorded on the way.
    """

    def __init__(self, functions: Sequence[Definition], name: str | None, options: Options) -> None:
        self.functions = list(functions)
        self.name = name or self.functions[0].library_name
        self.options = options
        self.seconds: dict[str, float] = {}
        self.begin: Callable[[str], None] = lambda step: None
        self.locations = self.generic = False
        self.snapshots = Snapshots(())
        self.report: Report | None = None

    @cached_property
    def lowered(self) -> Lowered:
        """The functions at loop level.   Raises: as `recipe.lower`."""
        with self._timed("lower"):
            return lower(self.functions, self.options, IR_STAGES, self.locations, self.snapshots, self.report)

    @cached_property
    def library(self) -> Library:
        """The library as object code in memory.   Raises: as `recipe.make_library`."""
        lowered = self.lowered
        with self._timed("emit LLVM IR"):
            return make_library(lowered, self.name)

    @cached_property
    def optimised(self) -> ModuleRef:
        """The whole library as one optimised LLVM module.   Raises: as `Library.optimised`"""
        library = self.library
        with self._timed("optimise one module"):
            return library.optimised

    def kernel(self, function: str, source: Callable[[str, int], str] = lambda file, line: "") -> str:
        """The assembly of one function: its kernel, and the chunks and loops outlined from it.

        source: returns the text of a line of the user's files, which is printed with the line number.
        """
        lowered = self.lowered
        text = lowered.machine.assembly(self.optimised)
        return kernel_text(text, lines_of(lowered.module, function), lowered.machine.comment, source)

    @property
    def shared(self) -> bytes:
        """The shared library.   Raises: ToolError without a linker, or if it fails."""
        return self._linked.library

    @cached_property
    def _linked(self) -> Linked:
        library = self.library
        with self._timed("optimise and generate code"):
            objects = library.objects
        with self._timed("link"):
            return library.linked(objects)

    def file_name(self, form: str) -> str:
        """The name of the file that holds `form`."""
        if form == WEIGHTS:
            return next(iter(self.library.weights_files()))
        system = system_of(self.lowered.machine.triple)
        return {"lib": system.shared, "static": system.static}.get(form, FORMS[form]).format(self.name)

    @property
    def usual_forms(self) -> list[str]:
        """The forms written by default: the library, files that programs need to link with it, the header."""
        system = system_of(self.lowered.machine.triple)
        if self.options.freestanding:
            return ["static", "header"]
        more = ["imports"] if system.imports else ["js", "dts"] if system is WASM else []
        more += ["ceres"] if any(layer.name == "ceres" for layer in self.options.layers) else []
        return ["lib", *more, "header"]

    def _imports(self) -> bytes:
        if not system_of(self.lowered.machine.triple).imports:
            triple = self.lowered.machine.triple
            raise OptionError(
                f"there is no import library for {triple}: programs link with the shared library itself",
                hint="emit lib",
            )
        return self._linked.imports

    def content(self, form: str) -> bytes:
        """The content of the file of one form, a key of FORMS.   Raises: as the steps that produce it."""
        if form in self.lowered.texts:
            text = self.lowered.texts[form]
            return (generic_text(text, self.locations) if form == "nest" and self.generic else text).encode()
        makers: dict[str, Callable[[], bytes]] = {
            "lib": lambda: self.shared,
            "imports": self._imports,
            "js": lambda: self._for_web(module_text),
            "dts": lambda: self._for_web(types_text),
            "static": lambda: self.library.archive_of(self._one_object),
            "obj": lambda: self._one_object,
            "asm": lambda: self.lowered.machine.assembly(self.optimised).encode(),
            "llvm": lambda: str(emit(self.lowered)).encode(),
            "llvm-opt": lambda: str(self.optimised).encode(),
            "c": lambda: self._c_source().encode(),
            "header": lambda: self.library.header().encode(),
            "ceres": self._for_ceres,
            "manifest": lambda: (json.dumps(json.loads(self.library.manifest.to_json()), indent=2) + "\n").encode(),
        }
        return makers[form]()

    def _c_source(self) -> str:
        refuse_weights(self.options)
        manifest = self.library.manifest
        with self._timed("write C"):
            return c_source(self.functions, self.options, manifest)

    def _for_web(self, make: Callable[[Manifest], str]) -> bytes:
        triple = self.lowered.machine.triple
        if system_of(triple) is not WASM:
            raise OptionError(
                f"JavaScript cannot call a library for {triple}", hint="compile with --target wasm32-wasi"
            )
        return make(self.library.manifest).encode()

    def _for_ceres(self) -> bytes:
        headers = list(self.library.interface_headers().values())
        if not headers:
            raise OptionError(
                "the library was not compiled for Ceres, so it has no cost functions",
                hint="compile it with --abi ceres",
            )
        return headers[0].encode()

    @cached_property
    def _one_object(self) -> bytes:
        """The whole library as one object file."""
        module = self.optimised
        with self._timed("generate code of one module"):
            return self.library.object_of(module)

    @contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        self.begin(step)
        start = time.perf_counter()
        yield
        self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start
