"""The page as one file: styles, script and data inside, nothing loaded from anywhere.

A Content-Security-Policy names the script and the styles by their hashes: should anything else ever get into the page,
the browser does not run it.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import Final

from aotensor.pictures.drawing import RULES
from aotensor_cli.page.content import Content
from aotensor_cli.page.escape import embedded
from aotensor_runtime.notebook.html import escaped

_SCRIPTS: Final = ("model.js", "text.js", "layout.js", "graph.js", "views.js", "profile.js", "main.js")


def page_html(content: Content) -> str:
    """The text of the page."""
    style = _asset("page.css") + RULES
    script = "\n".join(["'use strict';", *map(_asset, _SCRIPTS)])
    policy = (
        f"default-src 'none'; script-src 'sha256-{_hash(script)}'; style-src 'sha256-{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    pictures = "".join(
        f'<template data-picture="{escaped(kind)}" data-set="{number}">{svg}</template>'
        for kind, drawn in content.pictures.items() for number, svg in enumerate(drawn)
    )  # fmt: skip
    values = {
        "policy": policy, "title": escaped(content.title), "style": style, "script": script,
        "data": embedded(content.tree()), "pictures": pictures,
    }  # fmt: skip
    pieces = _asset("page.html").split("\u00a7")
    return "".join(values[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def _asset(name: str) -> str:
    return files("aotensor_cli.page").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()
