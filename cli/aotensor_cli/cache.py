"""`aotensor cache`: show and reduce the disk space of compiled functions."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import click

from aotensor.config import size_in_bytes
from aotensor.driver.folder import store
from aotensor.driver.store import KINDS, Entry, Store
from aotensor_cli.options import Refusal
from aotensor_cli.terminal.render import show_json, show_table, size_text

_AGES: Final = ((86400, "days"), (3600, "hours"), (60, "minutes"), (1, "seconds"))


def run(action: str, size: str | None, as_json: bool) -> None:
    """Run `aotensor cache` with the parameters that `commands/cache.py` declares."""
    cache = store()
    if size is not None and action != "prune":
        raise Refusal("--size can be used only with prune")
    removed = None
    if action == "prune":
        removed = cache.prune(cache.limit if size is None else _size(size))
    elif action == "clear":
        removed = cache.clear()
    entries = cache.entries()
    if as_json:
        show_json(_tree(cache, entries, removed))
    elif action == "list":
        show_table(("entry", "size", "used"), [(x.name, size_text(x.size), _age(x.used)) for x in entries])
    else:
        if removed is not None:
            click.echo(f"removed {size_text(removed)}")
        show_table(("", ""), _rows(cache, entries))


def _size(text: str) -> int:
    try:
        return size_in_bytes(text)
    except ValueError as error:
        raise Refusal(f"--size: {error}") from error


def _rows(cache: Store, entries: list[Entry]) -> list[tuple[str, str]]:
    total = sum(x.size for x in entries)
    rows = [("folder", str(cache.folder)), ("size", f"{size_text(total)} of {size_text(cache.limit)}")]
    for kind in KINDS:
        own = [x for x in entries if Path(x.name).parent.name == kind]
        rows.append((kind, f"{len(own)}, {size_text(sum(x.size for x in own))}"))
    return rows


def _tree(cache: Store, entries: list[Entry], removed: int | None) -> dict[str, object]:
    listed = [{"name": x.name, "path": str(x.path), "size": x.size, "used": x.used} for x in entries]
    tree: dict[str, object] = {"folder": str(cache.folder), "limit": cache.limit, "size": sum(x.size for x in entries)}
    return tree | {"entries": listed} | ({} if removed is None else {"removed": removed})


def _age(used: float) -> str:
    """The time since last use, in its largest unit: `3 days`."""
    passed = max(time.time() - used, 0)
    length, unit = next((x for x in _AGES if passed >= x[0]), _AGES[-1])
    return f"{passed / length:.0f} {unit} ago"
