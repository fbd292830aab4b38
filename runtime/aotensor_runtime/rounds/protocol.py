"""The protocol of rounds: how to call a library's functions, as JSON section `rounds`, for Python, C, MPI and others.

The protocol consists of names. A driver keeps values by name: the inputs that are the same for all rows, and `rows`,
the number of rows. It calls each function by the names of its inputs, and stores the outputs under theirs:

    start                        if there is one
    for each round:
        map     on each chunk    inputs with rows, `first_row` of the chunk, values → partials, outputs with rows
        merge   on pairs         a_<partial> of earlier rows, b_<partial> of later ones → partials, in a fixed tree
        finish                   partials, values → values, outputs
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from aotensor_runtime.errors import DamagedLibrary, LibraryError
from aotensor_runtime.json_node import parsed
from aotensor_runtime.library import Library

SECTION: Final = "rounds"
VERSION: Final = 1
FIRST_ROW: Final = "first_row"
ROWS: Final = "rows"
OPTIONS: Final = ("engine", "chunk_rows", "timeout", "retries", "progress", "self")
"""Names that inputs cannot have: the parameters of calls, which also accept inputs by name."""


@dataclass(frozen=True)
class Round:
    """One round. merge: None without partials. finish: None if it is not needed. rows: output → axis of its rows"""

    map: str
    merge: str | None
    finish: str | None
    partials: tuple[str, ...]
    rows: Mapping[str, int]


@dataclass(frozen=True)
class Protocol:
    """The protocol of one function. inputs: name → axis of its rows, None for an input that every chunk needs.

    outputs: name → the user's key, in order. kind: the form of the result: single, list, dict or none.
    first_row, total: the names of the inputs for the number of a chunk's first row, and of all rows.
    """

    function: str
    over: str
    inputs: Mapping[str, int | None]
    outputs: Mapping[str, str]
    kind: str
    start: str | None
    rounds: tuple[Round, ...]
    first_row: str = FIRST_ROW
    total: str = ROWS

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {
            "version": VERSION,
            "function": self.function,
            "over": self.over,
            "inputs": dict(self.inputs),
            "outputs": dict(self.outputs),
            "kind": self.kind,
            "start": self.start,
            "first_row": self.first_row,
            "rows": self.total,
            "rounds": [
                {
                    "map": r.map,
                    "merge": r.merge,
                    "finish": r.finish,
                    "partials": list(r.partials),
                    "rows": dict(r.rows),
                }
                for r in self.rounds
            ],
        }

    @classmethod
    def from_library(cls, library: Library) -> Protocol:
        """The protocol in a library.   Raises: LibraryError if it has none, or one that this runtime does not know."""
        try:
            tree: Any = parsed(library.section(SECTION))
        except (ValueError, RecursionError) as error:
            raise DamagedLibrary(f"library {library.manifest.name}: section {SECTION} is not JSON") from error
        except KeyError:
            raise LibraryError(
                f"library {library.manifest.name} has no rounds", hint="`aotensor split` compiles a library with rounds"
            ) from None
        if tree.get("version") != VERSION:
            raise LibraryError(
                f"library {library.manifest.name}: rounds of version {tree.get('version')!r:.20} are not supported"
            )
        rounds = tuple(
            Round(r["map"], r["merge"], r["finish"], tuple(r["partials"]), dict(r["rows"])) for r in tree["rounds"]
        )
        return cls(
            tree["function"], tree["over"], tree["inputs"], tree["outputs"], tree["kind"], tree["start"], rounds,
            tree["first_row"], tree["rows"],
        )  # fmt: skip
