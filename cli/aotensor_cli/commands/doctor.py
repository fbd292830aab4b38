"""`aotensor doctor`: its arguments, options and help."""

from __future__ import annotations

from aotensor_cli.commands.declaration import declare
from aotensor_cli.options import debug_option, json_option


@declare("doctor")
@json_option
@debug_option
def command() -> None:
    """Show what aotensor finds on this machine, and what to install.

    Exit code 4 if something is missing that compilation needs.
    """
