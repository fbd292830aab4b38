"""Definition: the named inputs and outputs of a function to be compiled."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, TypedDict

from aotensor.core.garbage import rare_collections
from aotensor.core.types import TensorType, dim_name
from aotensor.densities.density import Density
from aotensor.densities.parameter import Parameter, checked_parameters
from aotensor.driver.hand import HandSchedule
from aotensor.driver.naming import c_name, input_names, local_names, output_names
from aotensor.driver.prepare import passes_over
from aotensor.driver.signature import (
    In,
    Outputs,
    Updates,
    are_column_major,
    check_unused,
    check_values,
    checked_inputs,
    checked_updates,
    default_updates,
    named_outputs,
    shared_leaves,
)
from aotensor.driver.stages import IR_STAGES
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.expansion import without_values
from aotensor.graph.expression import called
from aotensor.graph.passes.pipeline import Pipeline, pipeline_of
from aotensor.graph.passes.remarks import Note, Notes, listening
from aotensor.graph.passes.run import PassRecord
from aotensor.graph.site import user_names, variables_at
from aotensor.graph.substitute import Replacements, checked_replacements
from aotensor.graph.text import graph_text
from aotensor.graph.variable import SharedVariable, Variable
from aotensor.graph.walk import replace
from aotensor.ops.scan.rewrite.checkpoint import Checkpoints
from aotensor.ops.shape.axes import transpose
from aotensor.sparse.boundary import Flat, flatten
from aotensor.sparse.construct.declared_pattern import on_pattern
from aotensor_runtime.signature import python_signature


class Options(TypedDict, total=False):
    """Keyword options of a definition; `aotensor.function` documents them."""

    updates: Updates
    givens: Replacements
    no_default_updates: bool | Collection[Variable]
    name: str | None
    rebuild_strict: bool
    allow_input_downcast: bool | None
    on_unused_input: str | None
    passes: str | None
    disable_passes: Collection[str]
    parameters: Mapping[str, Parameter] | None


class Definition:
    """Named symbolic inputs and outputs: all that compilation and verification need to know of a function.

    inputs, outputs: as given, the former as variables. arguments, results: all of the compiled function by name, shared
    variables and their next values included. Options and errors: as those of `aotensor.function`.
    """

    def __init__(
        self,
        inputs: Sequence[Variable | In],
        outputs: Outputs,
        *,
        updates: Updates = None,
        givens: Replacements = None,
        no_default_updates: bool | Collection[Variable] = False,
        name: str | None = None,
        rebuild_strict: bool = True,
        allow_input_downcast: bool | None = None,
        on_unused_input: str | None = None,
        passes: str | None = None,
        disable_passes: Collection[str] = (),
        parameters: Mapping[str, Parameter] | None = None,
    ) -> None:
        policy = "raise" if on_unused_input is None else on_unused_input
        if policy not in ("raise", "warn", "ignore"):
            raise GraphValueError(f"on_unused_input must be 'raise', 'warn' or 'ignore', not {on_unused_input!r}")
        if name is not None and not (name.isidentifier() and name.isascii()):
            raise GraphValueError(f"function name {name!r} is not a C identifier")
        #: the pass pipeline that compiles it
        self.pipeline = pipeline_of(passes, disable_passes)
        #: how values of forward steps are stored for backward ones
        self.checkpoints = Checkpoints()
        #: the loops to compile, instead of those that passes generate
        self.schedule_text: HandSchedule | None = None
        self.name = name or "function"
        #: its description in the header, one sentence
        self.doc = ""
        #: for a log density, its parameters by name
        self.parameters = checked_parameters(parameters)
        #: for a log density from an importer, the function that computes its parameters
        self.density: Callable[[], Density] | None = None
        #: for a function of a nonlinear program, that `NLP`
        self.program: Any = None
        self.is_named = name is not None
        wishes = checked_inputs(inputs)
        self.inputs = [one.variable for one in wishes]
        self.outputs = outputs
        self.allow_input_downcast = bool(allow_input_downcast)
        self.output_kind, named = named_outputs(outputs)
        pairs = checked_updates(updates)
        replacements = checked_replacements(givens, rebuild_strict)
        targets = replace([*named.values(), *(new for _, new in pairs)], replacements)
        with_known_type = [target for target, _ in pairs]
        defaults = default_updates(targets, with_known_type, no_default_updates, self.inputs, replacements)
        pairs, targets = [*pairs, *defaults], [*targets, *(new for _, new in defaults)]
        targets = without_values(targets, self.inputs)
        results, nexts = targets[: len(named)], targets[len(named) :]
        check_values(named, results)
        self.shared = shared_leaves(self.name, self.inputs, targets, [s for s, _ in pairs])
        written = [*named.values(), *(new for _, new in pairs)]
        check_unused(self.inputs, targets, replacements, written, policy)
        self.local_names = local_names(user_names(), targets, self.inputs)
        self._name_everything({one.variable: one.name for one in wishes}, named, results, pairs, nexts)
        self.state = {key: x for key, x in self.arguments.items() if isinstance(x, SharedVariable)}
        #: input name → its `In`
        self.declared = {self.names[one.variable]: one for one in wishes}
        columns = zip(self.results, are_column_major(outputs), strict=False)
        #: names of results that are written column-major
        self.column_results = tuple(key for key, is_column_major in columns if is_column_major)
        #: input name → its `In`, where that restricts or widens the arrays that a call accepts
        self.wishes = {key: one for key, one in self.declared.items() if one.strict or one.allow_downcast is not None}

    @property
    def library_name(self) -> str:
        """The default library name if this is the library's first function."""
        return self.name if self.program is None else str(self.program.name)

    def _name_everything(
        self,
        wanted: Mapping[Variable, str | None],
        named: Mapping[str, Variable],
        results: Sequence[Variable],
        pairs: Sequence[tuple[SharedVariable, Variable]],
        nexts: Sequence[Variable],
    ) -> None:
        own = input_names(self.name, [(x, wanted.get(x) or x.name) for x in self.inputs])
        taken = dict(zip(own, self.inputs, strict=True))
        for position, x in enumerate(self.shared, len(self.inputs)):
            taken[c_name(x.name or "", taken, f"in{position}")] = x
        #: every input of the compiled function by name: the user's, then the shared variables
        self.arguments: dict[str, Variable] = taken
        self.names = {x: key for key, x in taken.items()}
        #: the user's name → the C name of each input whose names differ, such as `int` and `int_`
        spelled = ((wanted.get(x) or x.name, self.names[x]) for x in self.inputs)
        self.c_names = {one: key for one, key in spelled if one and one != key and one not in taken}
        self.__signature__ = python_signature(list(taken)[: len(self.inputs)])
        #: every output of the compiled function by name: the user's, then the next values of shared variables
        self.results: dict[str, Variable] = dict(zip(output_names(self.name, list(named)), results, strict=True))
        #: input name → output name of each updated shared variable
        self.updates: dict[str, str] = {}
        for (target, _), value in zip(pairs, nexts, strict=True):
            key = c_name(f"new_{self.names[target]}", {*taken, *self.results}, "new")
            self.results[key] = value
            self.updates[self.names[target]] = key
        #: output name → the user's key, for dicts
        self.keys = dict(zip(self.results, named, strict=False))

    def by_c_names(self, given: Mapping[str, object]) -> dict[str, object]:
        """Keyword arguments of a call, with the user's names of inputs replaced by those in C.

        Raises: GraphTypeError if an input is given under both.
        """
        for one, key in self.c_names.items():
            if one in given and key in given:
                raise GraphTypeError(f"{self.name}: {key} is given twice, also as {one!r}")
        return {self.c_names.get(key, key): x for key, x in given.items()}

    @property
    def written_names(self) -> dict[Variable, str]:
        """Names in the user's program: of arguments, of results by key, and of local variables."""
        keyed = {x: key for key, x in self.results.items() if self.output_kind == "dict" and x.owner and not x.name}
        return {**self.local_names, **keyed, **self.names}

    @property
    def flat(self) -> Flat:
        """Arguments and results after the graph passes, with sparse matrices as dense arrays, as they are compiled."""
        return self._prepared[0]

    @property
    def graph_records(self) -> list[PassRecord]:
        """The record of each graph pass, in order."""
        return self._prepared[1]

    @property
    def graph_notes(self) -> list[Note]:
        """The notes of the graph passes, in order."""
        return self._prepared[2]

    @cached_property
    def _prepared(self) -> tuple[Flat, list[PassRecord], list[Note]]:
        with listening(Notes(self.name)) as notes:
            steps = self.graph_passes()
        _, results = steps[-1]
        flat = flatten(self.row_major_arguments, dict(zip(self.results, results, strict=True)))
        flat = dataclasses.replace(flat, column_arguments=self.column_arguments, column_results=self.column_results)
        return flat, [record for record, _ in steps], notes.found

    @rare_collections
    def graph_passes(self) -> list[tuple[PassRecord, list[Variable]]]:
        """Run the graph passes: (their records, the results after them)."""
        inputs = self.row_major_arguments
        transposed = {self.arguments[key]: _transposed(inputs[key]) for key in self.column_arguments}
        results = replace(list(self.patterned_results.values()), transposed)
        pairs = zip(self.results, results, strict=True)
        results = [_transposed(y) if key in self.column_results else y for key, y in pairs]
        with called(self.names):
            return list(passes_over(results, list(inputs.values()), self.pipeline, self.checkpoints))

    @property
    def column_arguments(self) -> tuple[str, ...]:
        """Names of the inputs that are column-major."""
        return tuple(key for key, one in self.declared.items() if one.layout == "F")

    @property
    def patterned_arguments(self) -> dict[str, Any]:
        """The sparse inputs whose pattern is declared, by name."""
        return {key: self.arguments[key] for key, one in self.declared.items() if one.pattern is not None}

    @property
    def patterned_results(self) -> dict[str, Variable]:
        """Results by name, computed from sparse inputs with their declared patterns as constants."""
        known = {}
        for key, x in self.patterned_arguments.items():
            with variables_at(x.site):
                known[x] = on_pattern(key, x, self.declared[key].pattern)
        return dict(zip(self.results, replace(list(self.results.values()), known), strict=True))

    @cached_property
    def row_major_arguments(self) -> dict[str, Variable]:
        """Inputs by name as the kernel reads them: a column-major input is replaced by its row-major transpose."""
        transposed = set(self.column_arguments)
        return {key: _leaf(key, x) if key in transposed else x for key, x in self.arguments.items()}

    def under(self, pipeline: Pipeline) -> Definition:
        """This definition with another pass pipeline."""
        return self if pipeline == self.pipeline else self._with(pipeline=pipeline)

    def checkpointed(self, checkpoints: Checkpoints) -> Definition:
        """This definition with other checkpoints of its loops."""
        return self if checkpoints == self.checkpoints else self._with(checkpoints=checkpoints)

    def _with(self, **changes: Any) -> Definition:
        other = Definition.__new__(Definition)
        vars(other).update({key: value for key, value in vars(self).items() if key != "_prepared"}, **changes)
        return other

    def graph_text(self, stage: str, known: dict[Variable, str] | None = None) -> str:
        """The text of the stage `graph` or `graph-opt`.   known: as for `graph.text`"""
        if stage == "graph":
            return graph_text(self.name, list(self.arguments.values()), self.results, known)
        return graph_text(self.name, list(self.flat.arguments.values()), self.flat.results, known)


def _leaf(name: str, x: Variable) -> Variable:
    """A new input with the extents of x in reverse order, for a column-major argument; dims keep their names."""
    shape = tuple(n if isinstance(n, int) else dim_name(name, axis, n) for axis, n in enumerate(x.tensor_type.shape))
    with variables_at(x.site):
        return Variable(TensorType(x.dtype, shape[::-1]), name=x.name)


def _transposed(x: Variable) -> Variable:
    """The transpose of x, with the source location of x."""
    with variables_at(x.site):
        return transpose(x)


def check_locations(stage: str, locations: bool) -> None:
    """Check that a stage has source locations, if they are requested.   Raises: GraphValueError"""
    if locations and stage not in IR_STAGES:
        raise GraphValueError(
            f"stage {stage} has no source locations", hint=f"stages that have them: {', '.join(IR_STAGES)}"
        )


def check_generic(stage: str) -> None:
    """Check that the text of a stage has a generic form, if it is requested.   Raises: GraphValueError"""
    if stage != "nest":
        raise GraphValueError(f"stage {stage} has no generic form", hint="generic=True is supported for stage nest")
