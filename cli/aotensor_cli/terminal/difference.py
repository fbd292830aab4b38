"""Print the text of a stage or of the IR after a pass, or its difference from another text."""

from __future__ import annotations

import difflib
import sys
from dataclasses import dataclass
from typing import Final

import click

from aotensor.driver.stages import BEFORE
from aotensor_cli.terminal.plain import is_plain, printable
from aotensor_cli.terminal.render import show, show_json, talk

_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(frozen=True)
class View:
    """A requested text.   stage: a stage or a pass. base: another one that it is compared with; "before": what the
    pass found. name: of the function.
    """

    stage: str | None
    base: str | None
    name: str | None
    form: str

    @property
    def names(self) -> list[str]:
        """The names of the texts that the view needs."""
        assert self.stage is not None
        if self.base is None:
            return [self.stage]
        return [self.stage, f"{BEFORE}{self.stage}" if self.base == "before" else self.base]

    def show(self, text: str, other: str | None = None) -> None:
        """Print the text, or its difference from the other one."""
        if other is not None:
            self._show_difference(text, other)
        elif self.form == "json":
            show_json({"stage": self.stage, "text": text})
        else:
            show(text, nl=not text.endswith("\n"))

    def _show_difference(self, text: str, other: str) -> None:
        name, base = self.names
        lines = list(difflib.unified_diff(other.splitlines(), text.splitlines(), base, name, lineterm=""))
        if self.form == "json":
            show_json({"stage": self.stage, "diff": self.base, "text": "".join(f"{line}\n" for line in lines)})
            return
        if not lines:
            talk(f"there is no difference between {base} and {name}")
        plain = is_plain(sys.stdout)
        for line in lines:
            safe = printable(line)
            show(safe if plain else click.style(safe, fg=_COLOURS.get(line[:1])), is_safe=True)
