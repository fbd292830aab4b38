"""`aotensor cache`: its arguments, options and help."""

from __future__ import annotations

from typing import Final

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.options import debug_option, json_option

_ACTIONS: Final = ("show", "list", "prune", "clear")


@declare("cache")
@click.argument("action", metavar="[show|list|prune|clear]", type=click.Choice(_ACTIONS), default="show")
@click.option("--size", metavar="SIZE", help="What prune leaves, such as 500M. Default: the limit of the cache.")
@json_option
@debug_option
def command() -> None:
    """Show or empty the cache of compiled functions.

    Calling a Function compiles it into the folder AOTENSOR_CACHE_DIR (default: ~/.cache/aotensor), which holds
    AOTENSOR_CACHE_SIZE at most (default: 1G): what was used longest ago goes first. All of it can be made again.

    show: where it is, and how much. list: every entry, the one used last first. prune: remove what killed processes
    left behind, and old entries until --size remains. clear: remove all entries.
    """
