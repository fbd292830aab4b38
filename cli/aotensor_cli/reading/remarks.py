"""What passes decided: read from a library, and shown by line of the model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby

from aotensor.driver.stages import REMARKS_SECTION
from aotensor.graph.passes.remarks import Remark, by_line
from aotensor_cli.terminal.render import show, show_table
from aotensor_runtime.container import Container
from aotensor_runtime.errors import DamagedLibrary


def recorded_remarks(container: Container) -> list[Remark]:
    """The remarks that travel in a library; none in one that was made without.   Raises: DamagedLibrary"""
    if REMARKS_SECTION not in container.extra_names():
        return []
    try:
        return [Remark.of_row(row) for row in json.loads(container.extra(REMARKS_SECTION))]
    except (ValueError, TypeError, RecursionError) as error:
        raise DamagedLibrary(f"section {REMARKS_SECTION} is damaged: it is no list of remarks") from error


def show_by_line(remarks: Sequence[Remark]) -> None:
    """A table for each function; the lines of the model in their order, with what was decided about each."""
    for number, name in enumerate(dict.fromkeys(x.function for x in remarks)):
        show(f"{chr(10) if number else ''}{name}")
        rows = []
        for where, group in groupby(by_line(x for x in remarks if x.function == name), key=_location):
            for position, x in enumerate(group):
                rows.append(("" if position else where, x.kind, x.pass_name, x.text))
        show_table(("line", "", "pass", "decision"), rows)


def _location(remark: Remark) -> str:
    return f"{remark.file}:{remark.line}" if remark.line else "anywhere"
