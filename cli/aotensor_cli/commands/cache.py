"""`aotensor cache`: its arguments, options and help."""

from __future__ import annotations

from typing import Final

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.options import debug_option, json_option

_ACTIONS: Final = ("show", "list", "prune", "clear")


@declare("cache")
@click.argument("action", metavar="[show|list|prune|clear]", type=click.Choice(_ACTIONS), default="show")
@click.option("--size", metavar="SIZE", help="Size that prune keeps, such as 500M. Default: the limit of the cache.")
@json_option
@debug_option
def command() -> None:
    """Show or empty the cache of compiled functions.

    Calling a Function compiles it into the folder AOTENSOR_CACHE_DIR (default: ~/.cache/aotensor), which holds at most
    AOTENSOR_CACHE_SIZE (default: 1G). The least recently used entries are deleted first; they are compiled again when
    they are needed.

    show: folder and size. list: every entry, the most recently used first. prune: remove temporary files of killed
    processes, and old entries until --size remains. clear: remove all entries.
    """
