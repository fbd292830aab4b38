"""Run a split function: an engine computes chunks, their partials are merged, round by round."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from typing import Any, Final

import numpy as np

from aotensor_runtime.arrays.plain import AnyArray
from aotensor_runtime.errors import AotensorError, ArgumentTypeError, ArgumentValueError, ChunkError
from aotensor_runtime.library import Library
from aotensor_runtime.rounds.arguments import as_source
from aotensor_runtime.rounds.engines import Engine, Serial
from aotensor_runtime.rounds.minimizer import Minimizer
from aotensor_runtime.rounds.protocol import OPTIONS, Protocol, Round
from aotensor_runtime.rounds.sources import Source, concatenate
from aotensor_runtime.rounds.tree import MergeTree
from aotensor_runtime.rounds.worker import FirstRow, Handle, Task
from aotensor_runtime.sparse.values import shown

CHUNK_BYTES: Final = 16 << 20
"""Bytes of the rows of a chunk, unless the caller says how many rows, or the sources are split already."""

Progress = Callable[[str, int, int], None]
"""(function of the round, chunks done, chunks)"""


def open_rounds(library: Library) -> SplitFunction:
    """Open the split function of a library.   Raises: LibraryError if it has none"""
    return SplitFunction(library, Protocol.from_library(library))


class SplitFunction:
    """A function over rows that an engine computes in chunks; equal chunks give equal bits on every engine."""

    def __init__(self, library: Library, protocol: Protocol) -> None:
        self.library, self.protocol = library, protocol
        self.handle = Handle.from_library(library)

    def __call__(self, engine: Engine | None = None, **inputs: Any) -> Any:
        """Compute the results of the whole function. Inputs by name: those with rows as in `bind`, and all others.

        Raises: as `bind`, and as a call of the bound function.
        """
        options = {name: inputs.pop(name) for name in OPTIONS if name in inputs}
        rows = {name: x for name, x in inputs.items() if self.protocol.inputs.get(name) is not None}
        bound = self.bind(engine, **rows, **options)
        try:
            return bound(**{name: x for name, x in inputs.items() if name not in rows})
        finally:
            if engine is None:
                bound.engine.close()

    def bind(
        self,
        engine: Engine | None = None,
        *,
        chunk_rows: int | None = None,
        timeout: float | None = None,
        retries: int = 3,
        progress: Progress | None = None,
        **rows: Any,
    ) -> BoundRounds:
        """Bind engine and rows, which are kept on the workers for many calls.

        rows: every input with rows, by name: an array, a csr matrix, a file or a list of them (.npy, .npz, .parquet,
        .zarr, folders), a `Source`, or a collection of Dask.
        chunk_rows: rows per chunk; by default those of Dask's blocks and Parquet's groups, else 16 MB of them. The
        bits of a result depend on it, and on nothing else.
        timeout: seconds in which some chunk must be done, else the call fails. retries: how often a chunk is computed
        again if its worker dies. progress: called with (function, chunks done, chunks).

        Raises: ArgumentTypeError and ArgumentValueError by argument for missing, unknown and unequal ones, OSError for
        files.
        """
        expected = [name for name, axis in self.protocol.inputs.items() if axis is not None]
        self._check_names(rows, expected, "rows")
        self._check_options(engine, chunk_rows, timeout, retries, progress)
        sources: dict[str, Source] = {}
        for name in expected:
            axis = self.protocol.inputs[name]
            assert axis is not None
            try:
                sources[name] = as_source(name, rows[name], axis)
            except AotensorError as error:
                found = error.diagnostic
                title = found.title if found.title.startswith(f"{name}:") else f"{name}: {found.title}"
                raise type(error)(f"{self.protocol.function}: {title}", lines=found.lines, hint=found.hint) from error
        lengths = {name: source.length for name, source in sources.items()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name} has {n}" for name, n in lengths.items())
            raise ArgumentValueError(f"{self.protocol.function}: numbers of rows differ: {shown}")
        return BoundRounds(self, engine or Serial(), sources, chunk_rows, timeout, retries, progress)

    def _check_options(
        self, engine: object, chunk_rows: object, timeout: object, retries: object, progress: object
    ) -> None:
        """Raises: ArgumentTypeError and ArgumentValueError for invalid options of `bind`"""
        f = self.protocol.function
        if engine is not None and not isinstance(engine, Engine):
            hint = "Serial(), Threads(k), Processes(k), Pool(executor, k) or Dask(client) of aotensor_runtime.rounds"
            raise ArgumentTypeError(f"{f}: engine: expected an engine, found {engine!r:.40}", hint=hint)
        for name, x, least in (("chunk_rows", chunk_rows, 1), ("retries", retries, 0)):
            if x is None and name == "chunk_rows":
                continue
            if isinstance(x, bool) or not isinstance(x, int | np.integer):
                raise ArgumentTypeError(f"{f}: {name}: expected a whole number, found {x!r:.40}")
            if x < least:
                what = (
                    "a chunk has at least one row" if name == "chunk_rows" else "a chunk is tried again 0 times or more"
                )
                raise ArgumentValueError(f"{f}: {name}: {what}, not {x}")
        if timeout is not None:
            if isinstance(timeout, bool) or not isinstance(timeout, int | float | np.number):
                raise ArgumentTypeError(f"{f}: timeout: expected seconds, found {timeout!r:.40}")
            if not timeout > 0:
                raise ArgumentValueError(f"{f}: timeout: must be a positive number of seconds, not {timeout}")
        if progress is not None and not callable(progress):
            raise ArgumentTypeError(
                f"{f}: progress: expected a function of (function, chunks done, chunks), found {progress!r:.40}",
                hint="progress=Bar() of aotensor_runtime.rounds shows one bar for each round",
            )

    def _check_names(self, given: Mapping[str, Any], expected: Sequence[str], what: str) -> None:
        """Raises: ArgumentTypeError for a missing or unknown name"""
        unknown = [name for name in given if name not in expected]
        missing = [name for name in expected if name not in given]
        if unknown or missing:
            title = f"{unknown[0]} is not an input" if unknown else f"no value is given for {', '.join(missing)}"
            raise ArgumentTypeError(
                f"{self.protocol.function}: {title}", hint=f"inputs with {what}: {', '.join(expected) or 'none'}"
            )

    def minimizer(
        self, engine: Engine | None = None, **options_and_inputs: Any
    ) -> tuple[Callable[[AnyArray], float], Callable[[AnyArray], AnyArray]]:
        """(value, gradient) for `scipy.optimize.minimize(fun, x0, jac=grad)`.

        The unknowns are the inputs that are not given, one after the other in x. The first output is the
        value, the others are its gradients, in the order of these inputs. Both functions share one computation
        at the same x. Inputs and options as those of `bind`.

        Raises: ArgumentTypeError where inputs and gradients do not match.
        """
        names = self.protocol.inputs
        options = {name: x for name, x in options_and_inputs.items() if name in OPTIONS}
        rows = {name: x for name, x in options_and_inputs.items() if names.get(name) is not None}
        fixed = {name: x for name, x in options_and_inputs.items() if name not in rows and name not in options}
        bound = self.bind(engine, **rows, **options)
        found = Minimizer(bound, fixed)
        return found.value, found.gradient


class BoundRounds:
    """A split function bound to rows. Call it with the inputs that every chunk needs, by name."""

    def __init__(
        self,
        split: SplitFunction,
        engine: Engine,
        sources: Mapping[str, Source],
        chunk_rows: int | None,
        timeout: float | None,
        retries: int,
        progress: Progress | None,
    ) -> None:
        self.split, self.engine, self.protocol = split, engine, split.protocol
        self.timeout, self.retries, self.progress = timeout, retries, progress
        self.length = next(iter(sources.values())).length
        self.chunks = chunks_of(self.length, list(sources.values()), chunk_rows)
        engine.prepare(split.handle)
        self.sources = {name: engine.keep(source) for name, source in sources.items()}
        self._held: dict[int, dict[str, Any]] = {}

    def __call__(self, **inputs: Any) -> Any:
        """Compute the results of the whole function: a dict, a list or one value, as in its protocol.

        Raises: ArgumentTypeError for a missing or unknown input; ChunkError naming chunk, file, worker and argument.
        """
        protocol = self.protocol
        self.split._check_names(inputs, [name for name, axis in protocol.inputs.items() if axis is None], "no rows")
        known: dict[str, Any] = {**inputs, protocol.total: np.int64(self.length)}
        if protocol.start is not None:
            known.update(self._call(protocol.start, known))
        for each in protocol.rounds:
            known.update(self._round(each, known))
            if each.finish is not None:
                known.update(self._call(each.finish, known))
        results = {key: shown(known[name]) for name, key in protocol.outputs.items()}
        if protocol.kind == "dict":
            return results
        values = list(results.values())
        return values[0] if protocol.kind == "single" else values

    def _call(self, name: str, known: Mapping[str, Any]) -> dict[str, Any]:
        function = self.split.library[name]
        return function(**{x.name: known[x.name] for x in function.spec.arguments if x.default is None})  # type: ignore[no-any-return]

    def _round(self, each: Round, known: Mapping[str, Any]) -> dict[str, Any]:
        """Run a round: the merged partials, and the outputs whose rows are complete."""
        tree = MergeTree[dict[str, Any]](len(self.chunks), lambda a, b: self._merge(each, a, b))
        rows: list[dict[str, Any]] = [{} for _ in self.chunks]
        wanted = self._inputs_of(each.map)
        shared = self.engine.share({name: known[name] for name in wanted if name in known})
        pending: dict[Any, int] = {}
        tries = [0] * len(self.chunks)
        waiting = list(range(len(self.chunks)))[::-1]
        done = 0
        try:
            while waiting or pending:
                while waiting and len(pending) < self.engine.workers + self.engine.ahead:
                    k = waiting.pop()
                    try:
                        pending[self._submit(each, k, shared, wanted, tries[k])] = k
                    except BrokenExecutor as error:
                        raise self._explained(each, k, tries[k], error) from error
                finished = self.engine.first_done(pending, self.timeout)
                if not finished:
                    raise ChunkError(
                        f"{each.map}: no chunk was completed within {self.timeout} seconds, and {len(pending)} are "
                        "running"
                    )
                for future in finished:
                    k = pending.pop(future)
                    try:
                        found = future.result()
                    except BaseException as error:
                        if not self.engine.is_loss(error) or tries[k] >= self.retries:
                            raise self._explained(each, k, tries[k], error) from error
                        tries[k] += 1
                        self._held.pop(k, None)
                        waiting.append(k)
                        continue
                    rows[k] = {name: found[name] for name in each.rows}
                    if each.partials:
                        tree.add(k, {name: found[name] for name in each.partials})
                    done += 1
                    if self.progress is not None:
                        self.progress(each.map, done, len(self.chunks))
        finally:
            for future in pending:
                future.cancel()
        complete = {name: concatenate([x[name] for x in rows], axis) for name, axis in each.rows.items()}
        return {**(tree.result() if each.partials else {}), **complete}

    def _inputs_of(self, function: str) -> list[str]:
        spec = self.split.library[function].spec
        return [x.name for x in spec.arguments if x.default is None]

    def _submit(self, each: Round, k: int, shared: Any, wanted: Sequence[str], tries: int) -> Any:
        start, stop = self.chunks[k]
        held = self._held.setdefault(k, {})
        for name in wanted:
            if name in self.sources and name not in held:
                held[name] = self.engine.hold(self.sources[name].part(start, stop))
        parts = {name: held[name] for name in wanted if name in self.sources}
        if self.protocol.first_row in wanted:
            parts[self.protocol.first_row] = FirstRow(start)
        handle = self.split.handle if tries else self.split.handle.light()
        axes = {name: self.sources[name].axis for name in wanted if name in self.sources}
        kinds = {name: self.sources[name].kind() for name in axes}
        task = Task(handle, each.map, k, len(self.chunks), start, stop, axes, kinds, self.engine.threads_of_a_chunk())
        return self.engine.submit(task, parts, shared, self.retries)

    def _merge(self, each: Round, a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
        assert each.merge is not None
        known = {**{f"a_{name}": x for name, x in a.items()}, **{f"b_{name}": x for name, x in b.items()}}
        return self._call(each.merge, known)

    def _explained(self, each: Round, k: int, tries: int, error: BaseException) -> BaseException:
        if isinstance(error, AotensorError) or not isinstance(error, Exception) or not self.engine.is_loss(error):
            return error
        start, stop = self.chunks[k]
        return ChunkError(
            f"{each.map}: chunk {k + 1} of {len(self.chunks)}, rows {start} to {stop}: its worker died",
            lines=[f"{type(error).__name__}: {error}"],
            hint="a worker dies where a chunk needs more memory than it has: pass a smaller chunk_rows",
        )


def chunks_of(length: int, sources: Sequence[Source], chunk_rows: int | None) -> list[tuple[int, int]]:
    """(first, last + 1) of each chunk: by the caller's size, the cuts of the first source with cuts, or 16 MB of rows.

    There is at least one chunk, which is empty without rows.
    """
    cuts = next((source.cuts for source in sources if source.cuts), ())
    if chunk_rows is None and cuts:
        starts = sorted({0, *(cut for cut in cuts if cut < length)})
    else:
        size = sum(source.row_bytes for source in sources)
        step = chunk_rows or max(int(CHUNK_BYTES / max(size, 1.0)), 1)
        starts = list(range(0, length, step)) or [0]
    return list(zip(starts, [*starts[1:], length], strict=True))
