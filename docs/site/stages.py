"""The page of stages with whole texts and pictures, which the compiler prints while the site is built."""

from __future__ import annotations

import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from click.testing import CliRunner

from aotensor_cli.main import group

PAGE: Final = "stages.md"
_FILE: Final = re.compile(r"^```python file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BLOCK: Final = re.compile(
    r"^```console\n\$ aotensor (inspect \S+ --stage (\S+)[^\n]*)\n.*?^```$", re.MULTILINE | re.DOTALL
)
_PICTURE: Final = re.compile(r"^<!-- picture: (\w+) -->$", re.MULTILINE)
_LANGUAGES: Final = {"graph": "text", "graph-opt": "text", "llvm": "llvm", "llvm-opt": "llvm", "asm": "gas"}


def completed(markdown: str) -> tuple[str, dict[str, str]]:
    """The page with the whole texts, and its pictures: name → SVG."""
    file = _FILE.search(markdown)
    assert file is not None
    here = Path.cwd()
    pictures: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Path(file[1]).write_text(file[2], encoding="utf-8")

            def with_text(block: re.Match[str]) -> str:
                stage = block[2]
                return block[0] + _details(printed(block[1].split()), _LANGUAGES.get(stage, "mlir"))

            def picture(match: re.Match[str]) -> str:
                name = f"stages-{match[1]}.svg"
                pictures[name] = printed(["inspect", file[1], "--format", "svg", "--stage", match[1]])
                return f"![{match[1]} of fit]({name})"

            text = _PICTURE.sub(picture, _BLOCK.sub(with_text, markdown))
        finally:
            os.chdir(here)
    return text, pictures


def printed(arguments: list[str]) -> str:
    """What a command prints.   Raises: RuntimeError if it fails"""
    done = CliRunner().invoke(group, arguments)
    if done.exit_code != 0:
        raise RuntimeError(f"aotensor {' '.join(arguments)}: {done.output}") from done.exception
    return done.stdout


def _details(text: str, language: str) -> str:
    kernel = re.search(r'^define [^\n]*@"?fit\.kernel"?\(.*?^}$', text, re.MULTILINE | re.DOTALL)
    title, shown = ("All of it", text) if kernel is None else ("The kernel", kernel[0])
    body = "\n".join(f"    {line}" for line in shown.rstrip().expandtabs(8).split("\n"))
    return f'\n\n??? abstract "{title}"\n\n    ```{language}\n{body}\n    ```\n'
