"""The type of options that name a stage or a pass."""

from __future__ import annotations

from typing import Any

import click

from aotensor_cli.commands.names import PASSES, RENAMED, STAGES


class Moment(click.Choice[str]):
    """The name of a stage or a pass, optionally with the number of the pass's run: `canonicalize.2`."""

    def __init__(self, *others: str) -> None:
        super().__init__((*STAGES, *PASSES, *others))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name unchanged.   Raises: BadParameter for an unknown stage or pass"""
        name, _, number = str(value).partition(".")
        if name in RENAMED:
            self.fail(f"the pass {name} is called {RENAMED[name]} since version 0.2", param, ctx)
        is_run = name in PASSES and number.isdecimal() and len(number) < 4
        return f"{super().convert(name, param, ctx)}.{int(number)}" if is_run else super().convert(value, param, ctx)
