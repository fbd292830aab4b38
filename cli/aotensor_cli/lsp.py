"""`aotensor lsp`: a language server for editors, on stdin and stdout."""

from __future__ import annotations

import importlib

from aotensor_cli.options import Exit, Refusal


def run(seconds: float, on_save: bool) -> int:
    """Run `aotensor lsp` with the parameters that `commands/lsp.py` declares; returns the exit code."""
    try:
        importlib.import_module("pygls.lsp.server")
    except ImportError as error:
        raise Refusal(
            f"lsp needs pygls 2, which cannot be imported ({error})", "pip install 'aotensor[lsp]'", Exit.TOOL
        ) from error
    from aotensor_cli.editor.server import Server

    Server(seconds, on_open=not on_save).run()
    return Exit.DONE
