"""The dialects of our IR, its parser (text → module), and the functions of a module."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

from xdsl.context import Context
from xdsl.dialects import func, get_all_dialects
from xdsl.dialects.builtin import BytesAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Span

from aotensor.errors import InternalError
from aotensor.ir.dialect import AOT
from aotensor.ir.nest.dialect import NEST
from aotensor.ir.nest.statement import StatementParser
from aotensor.ir.text import CALL, OWN, text_of
from aotensor.ir.upstream import SCF, GatherOp, PrefetchOp, ReallocOp, RemfOp

# dialects of MLIR that the forms of `ir.forms` allow; xDSL imports each at its first mention in a text
_UPSTREAM: Final = ("builtin", "func", "arith", "math", "linalg", "tensor", "memref", "vector")
# `} -> (tensor<…>, tensor<…>)`: xDSL 0.74 prints several results of a linalg.generic in parentheses, as MLIR does, but
# reads them only without
_SEVERAL_RESULTS: Final = re.compile(r"^(\s*\} -> )\((tensor<[^()]*>)\)(?=$| loc\()", re.MULTILINE)
# complete strings and comments, and a quote that begins neither
_STRINGS: Final = re.compile(r'"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*"|//[^\n]*|"')


def make_context() -> Context:
    """An xDSL context with the dialects of our IR, and no others."""
    context = Context()
    known = get_all_dialects()
    for name in _UPSTREAM:
        context.register_dialect(name, known[name])
    context.register_dialect(SCF.name, lambda: SCF)
    context.register_dialect(AOT.name, lambda: AOT)
    context.register_dialect(NEST.name, lambda: NEST)
    context.load_op(RemfOp)
    context.load_op(PrefetchOp)
    context.load_op(ReallocOp)
    context.load_op(GatherOp)
    return context


def parse_module(text: str, name: str = "<text>") -> ModuleOp:
    """Parse the text of a module at any level, in any form. name: name of the text in error messages.

    Raises: xdsl.utils.exceptions.ParseError, with the position in the text.
    """
    return TextParser(make_context(), readable(text), name).parse_module()


class TextParser(StatementParser):
    r"""xDSL's parser, extended to accept expressions, and escaped UTF-8 bytes in strings, such as `"\CE\B1"` for α."""

    def _parse_optional_builtin_attr(self) -> Attribute | None:
        found = super()._parse_optional_builtin_attr()
        if isinstance(found, BytesAttr):
            with suppress(UnicodeDecodeError):
                return StringAttr(found.data.decode())
        return found


def readable(text: str) -> str:
    """Convert the text of a module to a form that xDSL accepts; line numbers are preserved.

    Raises: ParseError for an unterminated string: the regular expression of xDSL 0.74 needs time that doubles with each
    character after it.
    """
    for found in _STRINGS.finditer(text):
        if found[0] == '"':
            span = Span(found.start(), found.end(), Input(text, "<text>"))
            raise ParseError(span, "this string has no end")
    return _SEVERAL_RESULTS.sub(r"\1\2", text.replace(f"{CALL}(", '"func.call"('))


def generic_text(text: str, locations: bool = False) -> str:
    """Rewrite the text of a module: operations of our own dialects in MLIR's generic form, which other tools read.

    locations: does the text contain locations?

    Raises: InternalError for a text that is not one of ours.
    """
    try:
        return text_of(parse_module(text), locations, OWN)
    except (ParseError, VerifyException) as error:
        position = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        raise InternalError(f"a text of IR cannot be read: {position}") from error


def functions_of(module: ModuleOp) -> list[func.FuncOp]:
    """The functions of a module that have a body, in order."""
    return [op for op in module.body.block.ops if isinstance(op, func.FuncOp) and not op.is_declaration]
