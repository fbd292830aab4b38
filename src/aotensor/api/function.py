"""Function: the object that users compile, call, inspect and verify."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import cached_property
from pickle import PicklingError
from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np

from aotensor.api.modes import Profile, checked_mode
from aotensor.api.remarks import Remarks
from aotensor.api.schedule import Schedule, hand_schedule
from aotensor.core.types import Array
from aotensor.densities.parameter import Parameter
from aotensor.driver.cache import load_compiled, loaded
from aotensor.driver.definition import Definition, Options, check_generic, check_locations
from aotensor.driver.hand import schedule_note
from aotensor.driver.signature import In, Outputs, Updates
from aotensor.driver.stages import STAGES
from aotensor.errors import GraphTypeError, GraphValueError, UnsupportedMachine
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.expression import called
from aotensor.graph.portable import Portable, from_portable, to_portable
from aotensor.graph.substitute import Replacements
from aotensor.graph.variable import SharedVariable, Variable
from aotensor.graph.walk import evaluate_all
from aotensor.ops.stable.forms import in_stable_forms
from aotensor.pictures.notebook import function_html
from aotensor.sparse.construct.declared_pattern import check_pattern
from aotensor_runtime.threads import default_threads

if TYPE_CHECKING:
    from aotensor.api.cost.cost import Cost
    from aotensor.api.profiling.report import TimeByLine
    from aotensor.verification.report import Report
    from aotensor_runtime.library import LibraryFunction


@coerced
def function(
    inputs: Sequence[Variable | In],
    outputs: Outputs = None,
    mode: str | None = None,
    *,
    updates: Updates = None,
    givens: Replacements = None,
    no_default_updates: bool | Collection[Variable] = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: bool | None = None,
    on_unused_input: str | None = None,
    trust_input: bool = False,
    passes: str | None = None,
    disable_passes: Collection[str] = (),
    parameters: Mapping[str, Parameter] | None = None,
) -> Function:
    """A function of symbolic inputs, compiled at its first call.

    inputs: variables, or `In` for one with options.
    outputs: a Variable (or `Out`) gives a value, a list or tuple a list, a dict a dict, None updates only and [].
    mode: "FAST_RUN" (default) compiles; "FAST_COMPILE" runs the NumPy reference and compiles nothing; "DEBUG_MODE" runs
    both at each call, and compares results and updates.
    updates: shared variable → its next value; all are computed from the old ones, results are those before the update.
    givens: variable → its replacement.
    no_default_updates: True, or the shared variables whose `default_update` is not applied.
    name: of the function in the header, a C identifier.
    rebuild_strict: False also accepts givens of another type, after which types are inferred again.
    allow_input_downcast: True accepts float64 values for float32 inputs.
    profile: True counts calls and seconds in `f.profile`.
    on_unused_input: "raise" (default), "warn" or "ignore".
    passes, disable_passes: compiler passes to run, as text (`"fuse,unroll-and-jam{by=4}"`, including all required
    ones), and those to leave out; for debugging, docs/ir.md lists them.
    parameters: of a log density for samplers: each is an input, or all are one after the other in the first input, a
    vector; the other inputs are data. The computation does not change; docs/howto/bridgestan.md.
    accept_inplace, trust_input: accepted and without effect: no op works in place, and arguments are checked in native
    code at no cost.

    Raises: UnusedInputError for an input that no output needs or that is given twice, MissingInputError for a variable
    that is needed but is not an input, GraphTypeError for shared inputs, updates and givens of another type, and null
    or disconnected outputs, GraphValueError for options that do not exist.
    """
    del accept_inplace, trust_input
    return Function(
        inputs,
        outputs,
        mode,
        profile,
        updates=updates,
        givens=givens,
        no_default_updates=no_default_updates,
        name=name,
        rebuild_strict=rebuild_strict,
        allow_input_downcast=allow_input_downcast,
        on_unused_input=on_unused_input,
        passes=passes,
        disable_passes=disable_passes,
        parameters=parameters,
    )


_CALL_OPTIONS: Final = ("out", "num_threads")
"""Keywords of a call that are not inputs, unless an input has that name."""


class Function(Definition):
    """A named function of symbolic inputs: call it, inspect it, verify it, or compile it with others.

    inputs, outputs: as given, the former as variables. arguments, results: all of the compiled function by name, shared
    variables and their next values included. profile: number and time of calls, if requested.
    """

    def __init__(
        self,
        inputs: Sequence[Variable | In],
        outputs: Outputs,
        mode: str | None = None,
        profile: bool | None = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(inputs, outputs, **options)
        self.mode = checked_mode(mode)
        self.profile = Profile() if profile else None
        self._is_plain = self.mode == "compiled" and self.profile is None and not self.wishes
        self._compiled: LibraryFunction | None = None
        self._direct: LibraryFunction | None = None  # if a call has nothing to add to the library's own

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Compute the results. The first call compiles, or finds the library in the cache.

        out, num_threads: arrays for the results, and the most threads, as for a function of a library.

        Raises: GraphTypeError and GraphValueError by argument name for values that do not fit.
        """
        if self._direct is not None:
            return self._direct(*args, **kwargs)
        kwargs = self.by_c_names(kwargs)
        if kwargs and any(name in kwargs and name not in self.arguments for name in _CALL_OPTIONS):
            return self._run_with_options(args, kwargs)
        return self.run_compiled(args, kwargs) if self._is_plain else self._run(args, kwargs)

    def run_compiled(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Any:
        """A compiled call in any mode.   Raises: as a call."""
        compiled = self._compiled or self._use(load_compiled(self))
        for name, x in self.state.items():
            compiled.state.lend(name, x.get_value(borrow=True))
        result = compiled(*args, **kwargs)
        for name in self.updates:
            self.state[name].set_value(compiled.state.borrow(name), borrow=True)
        return self._renamed(result)

    def _run_with_options(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Any:
        """A call with `out` or `num_threads`.   Raises: GraphValueError in a mode that runs the reference"""
        options = {name: kwargs[name] for name in _CALL_OPTIONS if name in kwargs and name not in self.arguments}
        if self.mode != "compiled":
            raise GraphValueError(
                f"{self.name}: option {' and '.join(options)} is for compiled calls, but this mode runs the reference",
                hint="leave it out, and copy the result where needed",
            )
        rest = {key: x for key, x in kwargs.items() if key not in options}
        if isinstance(out := options.get("out"), Mapping):
            names = {key: name for name, key in self.keys.items()}
            options["out"] = {names.get(key, key): x for key, x in out.items()}
        if self.wishes:
            args, rest = [array for _, array in self.bind_arguments(args, rest)], {}
        with self.profile.timed() if self.profile is not None else nullcontext():
            return self.run_compiled(args, {**rest, **options})

    def adopt(self, library: bytes) -> None:
        """Use a library that was compiled from this function elsewhere, unless this machine cannot run it."""
        with suppress(UnsupportedMachine):
            self._use(loaded(library)[self.name])

    def _use(self, compiled: LibraryFunction) -> LibraryFunction:
        self._compiled = compiled
        if self._is_plain and not self.state and not self.c_names and all(a == b for a, b in self.keys.items()):
            self._direct = compiled
        return compiled

    def _run(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Any:
        """Run a call in another mode, with a profile, or with inputs that have options."""
        with self.profile.timed() if self.profile is not None else nullcontext():
            match self.mode:
                case "reference":
                    with np.errstate(all="ignore"):
                        return self.reference(*args, **kwargs)
                case "checked":
                    from aotensor.verification.calls import checked_call

                    given = self.bind_arguments(args, kwargs)
                    return checked_call(self, given, lambda arrays: self.run_compiled(arrays, {}))
                case _:
                    if self.wishes:
                        args, kwargs = [array for _, array in self.bind_arguments(args, kwargs)], {}
                    return self.run_compiled(args, kwargs)

    def reference(self, *args: object, **kwargs: object) -> Any:
        """The results by the NumPy and SciPy reference, with formulas in their stable forms."""
        values = dict(self.bind_arguments(args, kwargs))
        with called(self.names):
            computed = evaluate_all(self._stable_results, values)
        by_name = dict(zip(self.results, computed, strict=True))
        for name, key in self.updates.items():
            self.state[name].set_value(by_name.pop(key))
        match self.output_kind:
            case "single":
                return _copy_value(next(iter(by_name.values())))
            case "dict":
                return self._renamed({key: _copy_value(x) for key, x in by_name.items()})
            case "list":
                return [_copy_value(x) for x in by_name.values()]
            case _:
                return []

    @cached_property
    def _stable_results(self) -> list[Variable]:
        return in_stable_forms(list(self.results.values()), list(self.arguments.values()))

    def bind_arguments(self, args: Sequence[object], kwargs: Mapping[str, object]) -> list[tuple[Variable, Array]]:
        """Convert the arguments of a call to arrays of the inputs' types.

        Raises: GraphTypeError for a wrong number, an unknown name, or a value that does not fit.
        """
        names = [key for key, x in self.arguments.items() if not isinstance(x, SharedVariable)]
        if len(args) > len(names):
            raise GraphTypeError(f"{self.name}: expected {len(names)} inputs, found {len(args)}")
        given = dict(zip(names, args, strict=False))
        for key, value in self.by_c_names(kwargs).items():
            if key not in names or key in given:
                raise GraphTypeError(f"{self.name}: {key} is {'given twice' if key in given else 'not an input'}")
            given[key] = value
        missing = [key for key in names if key not in given]
        if missing:
            raise GraphTypeError(f"{self.name}: no value is given for {', '.join(missing)}")
        return [(self.arguments[key], self._filtered(key, given[key])) for key in names]

    def _filtered(self, key: str, value: object) -> Array:
        try:
            wish = self.wishes.get(key)
            strict, downcast = (wish.strict, wish.allow_downcast) if wish is not None else (False, None)
            downcast = self.allow_input_downcast or None if downcast is None else downcast
            found = self.arguments[key].tensor_type.filter(value, strict, downcast)
        except GraphTypeError as error:
            raise GraphTypeError(f"{self.name}: {key}: {error.diagnostic.title}", hint=error.diagnostic.hint) from error
        if key in self.patterned_arguments:
            check_pattern(self.name, key, found, self.declared[key].pattern)
        return found

    @coerced
    def ir(self, stage: str, locations: bool = False, short: bool = True, generic: bool = False) -> str:
        """The text of a stage: graph, graph-opt, tensor, tensor-opt, nest, loops, llvm, llvm-opt or asm.

        locations: print the source line of each operation as `loc("model.py":12:0)`; graphs always do. generic: print
        nests in MLIR's generic form, for `mlir-opt --allow-unregistered-dialect`. short: has no effect.

        Raises: GraphValueError for an unknown stage, locations of an LLVM stage, and the generic form of another stage.
        """
        del short
        if generic:
            check_generic(stage)
        if check_choice("stage", stage, STAGES) in ("graph", "graph-opt"):
            return self.graph_text(stage)
        check_locations(stage, locations)
        from aotensor.driver.recipe import stage_text

        return stage_text([self], stage, locations=locations, generic=generic)

    @property
    def schedule(self) -> Schedule:
        """The schedule of the compiler, to be edited: `f.schedule.tile("n", 64)`."""
        return Schedule(self)

    def with_schedule(self, schedule: str | os.PathLike[str] | Schedule) -> Function:
        """The same function, compiled by a schedule: a file of nest text, or a `Schedule`.

        Raises: ScheduleError for a schedule that computes something else, at the first call, which compiles.
        """
        other = Function.__new__(Function)
        vars(other).update(vars(self), schedule_text=hand_schedule(schedule), _compiled=None, _direct=None)
        return other

    def remarks(self) -> Remarks:
        """The decisions of each pass for this function, and their reasons: records of pass, kind, message and line.

        `f.remarks().about(line=12)` selects those about a source line; `print` shows one per line.

        Raises: as compiling.
        """
        from aotensor.driver.recipe import Options, lower

        label = "" if self.schedule_text is None else self.schedule_text.label
        return Remarks(self.name, lower([self], Options(), texts=()).remarks, schedule_note(label))

    def pattern(self, output: str) -> Any:
        """The pattern of a sparse output: a SciPy CSR or CSC matrix of ones; nothing is compiled.

        output: its key, `out0`, ... in a list, and `out` if it is the only one.

        Raises: GraphValueError for an unknown output, or one whose pattern depends on inputs, which it names;
        GraphTypeError for a dense one.
        """
        from aotensor.api.pattern import pattern_of

        results = {self.keys.get(key, key): x for key, x in self.patterned_results.items()}
        return pattern_of(self.name, results, output)

    @coerced
    def verify(self, samples: int = 8, seed: int = 0) -> Report:
        """Check the IR of every stage, compiled values against the reference, and gradients.

        The report is falsy when a check failed; `str(report)` is a table.

        Raises: GraphValueError for negative numbers and above a million samples; ToolError if a check cannot be made.
        """
        from aotensor.verification.verify import verify_function

        return verify_function(self, samples, seed)

    @coerced
    def cost(self, num_threads: int | None = None, **sizes: int) -> Cost:
        """The cost of a call on arrays of these sizes: operations, bytes, workspace and estimated time on this machine.

        The function is compiled for that, not called; the machine is measured once. `f.cost(n=10000, p=100).seconds`

        num_threads: as of a call. sizes: the extent of each dim; `A_nnz` is the number of entries of a sparse A.

        Raises: GraphValueError for a missing or unknown dim.
        """
        from aotensor.api.cost.cost import cost_of
        from aotensor.api.cost.inputs import checked_threads

        threads = checked_threads(self.name, default_threads() if num_threads is None else num_threads)
        return cost_of(self._use(load_compiled(self)) if self._compiled is None else self._compiled, sizes, threads)

    @coerced
    def time_by_line(
        self, num_threads: int = 1, seconds: float = 2.0, seed: int = 0, limits: bool = True, **sizes: int
    ) -> TimeByLine:
        """Measure the time of each line on random inputs: forward and derivative parts, rates, and the limit.

        num_threads: as of a call. seconds: of samples. seed: of the inputs. limits: measure the machine, for the
        bounds. sizes: the extent of each dim, 1000 by default.

        Raises: GraphValueError for an unknown dim, or options out of range; ToolError without timers or a compiler.
        """
        from aotensor.api.profiling.report import time_by_line

        return time_by_line(self, sizes, num_threads, seconds, seed, limits)

    def _renamed(self, result: Any) -> Any:
        """Results in a dict under the user's own keys."""
        return {self.keys[key]: x for key, x in result.items()} if isinstance(result, dict) else result

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with the graph, the values of shared variables, and the compiled library if there is one.

        Variables that several functions share are not shared by their copies.

        Raises: PicklingError for an op or a value that cannot be pickled, such as one of a class in a function.
        """
        state = {
            key: value
            for key, value in vars(self).items()
            if key not in ("_prepared", "_compiled", "_direct", "density", "program")
        }
        try:
            graph = to_portable(state)
        except Exception as error:  # any error of a user-defined op
            raise PicklingError(f"{self.name} cannot be pickled: {error}") from error
        return _restored, (graph, None if self._compiled is None else self._compiled.library.data)

    def _repr_html_(self) -> str:
        """HTML for notebooks: arrays, compile options, and the graph: drawn, or listed where it is large."""
        library = None if self._compiled is None else self._compiled.library
        return function_html(self, None if library is None else (library.manifest, len(library.data)))

    def __repr__(self) -> str:
        inputs = ", ".join(f"{key}: {x.type}" for key, x in self.arguments.items())
        outputs = ", ".join(f"{key}: {x.type}" for key, x in self.results.items())
        return f"<Function {self.name}({inputs}) -> {outputs}>"


def _restored(graph: Portable, library: bytes | None) -> Function:
    """Unpickle: the copy is compiled if the original was, and this machine can run its library."""
    f = Function.__new__(Function)
    vars(f).update(from_portable(graph), _compiled=None, _direct=None, density=None, program=None)
    if library is not None:
        f.adopt(library)
    return f


def _copy_value(x: Any) -> Any:
    """A copy of an array in C order, or of a SciPy matrix."""
    return np.array(x) if isinstance(x, np.ndarray) else x.copy()
