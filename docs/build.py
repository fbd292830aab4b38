"""Makes docs/cli from help texts, docs/surface, tables of targets.md, importers.md, ir.md, and the table of passes.

python docs/build.py                        tests keep them equal
python docs/build.py pictures [NAME ...]    runs examples for docs/gallery, which takes minutes
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Final

import click
import importer_tables
import method_stub
import pass_tables
import surface_pages

from aotensor.codegen.targets.support import table
from aotensor_cli.main import COMMANDS, group

CLI: Final = Path(__file__).parent / "cli"
SITE: Final = Path(__file__).parent / "site"
TARGETS: Final = Path(__file__).parent / "targets.md"
_WIDTH: Final = 100


def pages() -> dict[Path, str]:
    """Path → text of every page of the command line."""
    commands = {name: group.get_command(click.Context(group), name) for name in COMMANDS}
    made = {CLI / f"{name}.md": _page(f"aotensor {name}", command) for name, command in commands.items() if command}
    listing = "".join(f"- [`aotensor {name}`]({name}.md): {summary}\n" for name, summary in COMMANDS.items())
    return {CLI / "index.md": _page("aotensor", group) + f"\n{listing}", **made}


def _page(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=name, terminal_width=_WIDTH, max_content_width=_WIDTH)
    context.help_option_names = ["-h", "--help"]
    return f"# {name}\n\n```text\n{command.get_help(context)}\n```\n"


def main() -> None:
    """Write the pages, and remove those of removed commands."""
    wanted = pages()
    CLI.mkdir(exist_ok=True)
    for path in CLI.glob("*.md"):
        if path not in wanted:
            path.unlink()
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    for path, text in surface_pages.pages().items():
        path.write_text(text, encoding="utf-8")
    begin, end = "<!-- made by docs/build.py -->\n", "<!-- end -->"
    text = TARGETS.read_text(encoding="utf-8")
    made = re.sub(f"{begin}.*?{end}", lambda _: begin + table() + end, text, flags=re.DOTALL)
    TARGETS.write_text(made, encoding="utf-8")
    importer_tables.write()
    method_stub.write()
    pass_tables.write()


if __name__ == "__main__":
    if sys.argv[1:2] == ["pictures"]:
        sys.path.insert(0, str(SITE))
        importlib.import_module("pictures").make(sys.argv[2:])
    else:
        main()
