"""A tokenizer of StableHLO text that knows the line of each token."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NoReturn, TypeVar

from aotensor.errors import GraphValueError

_SPACE: Final = re.compile(r"(?:\s|//[^\n]*)*")
_TOKEN: Final = re.compile(
    r"""(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<number>-?0x[0-9A-Fa-f]+|-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)
    |(?P<value>%[\w$.-]+(?:\#\d+)?)
    |(?P<symbol>@(?:[\w$.-]+|"(?:[^"\\\n]|\\.)*"))
    |(?P<alias>\#[\w$.-]+)
    |(?P<block>\^[\w$.-]+)
    |(?P<word>!?[A-Za-z_][\w$.]*)
    |(?P<mark>->|::|[^\s])""",
    re.VERBOSE,
)
_DEEPEST: Final = 100
"""Brackets and regions inside of each other."""

_OPEN: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}

T = TypeVar("T")


class DamagedText(GraphValueError):
    """A text that is not a module of StableHLO, or a part of one."""


class Text:
    """A tokenizer over a text.   file: for messages"""

    def __init__(self, source: str, file: str) -> None:
        self.source, self.file = source, file
        self.place = 0
        self._depth = 0
        self._counted = (0, 1)
        self.kind = self.token = ""
        self._end = 0
        self.advance()

    @property
    def line(self) -> int:
        """The line of the next token."""
        place, line = self._counted
        if self.place < place:
            place, line = 0, 1
        self._counted = (self.place, line + self.source.count("\n", place, self.place))
        return self._counted[1]

    def advance(self) -> str:
        """Consume and return the next token."""
        found = self.token
        space = _SPACE.match(self.source, self._end)
        self.place = space.end() if space else self._end
        match = _TOKEN.match(self.source, self.place)
        self.kind, self.token = (match.lastgroup or "", match.group()) if match else ("end", "")
        self._end = match.end() if match else self.place
        return found

    def fail(self, expected: str) -> NoReturn:
        """Fail at the next token.   Raises: DamagedText with the line, the expected and the found token"""
        found = f"{self.token!r:.40}" if self.token else "the end of the text"
        raise DamagedText(f"{self.file}:{self.line}: expected {expected}, found {found}")

    def take(self, token: str) -> bool:
        """Consume a token if it is the next one; return whether it was."""
        if self.token == token and self.kind != "string":
            self.advance()
            return True
        return False

    def need(self, token: str) -> None:
        """Consume the given token.   Raises: DamagedText if it is not the next one"""
        if not self.take(token):
            self.fail(repr(token))

    def expect_kind(self, kind: str, what: str) -> str:
        """The next token.   Raises: DamagedText if it is of another kind"""
        if self.kind != kind:
            self.fail(what)
        return self.advance()

    def parse_list(self, item: Callable[[], T], end: str) -> list[T]:
        """Parse items between commas, and consume `end`.   Raises: DamagedText"""
        found: list[T] = []
        self.deeper()
        if not self.take(end):
            found.append(item())
            while not self.take(end):
                self.need(",")
                found.append(item())
        self._depth -= 1
        return found

    def deeper(self) -> None:
        """Enter a bracket.   Raises: DamagedText for brackets nested too deeply"""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise DamagedText(f"{self.file}:{self.line}: brackets are nested more than {_DEEPEST} deep")

    def flatter(self) -> None:
        """Leave the bracket that `deeper` entered."""
        self._depth -= 1

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match a pattern at the next token, and consume the match."""
        found = pattern.match(self.source, self.place)
        if found:
            self._end = found.end()
            self.advance()
        return found

    def skip_brackets(self) -> str:
        """Consume and return the text between brackets of any kind.   Raises: DamagedText if one is not closed"""
        start, line, stack = self.place, self.line, []
        while True:
            if self.kind == "end":
                raise DamagedText(f"{self.file}:{line}: a bracket {self.source[start]!r} is not closed")
            if self.kind == "mark" and self.token in _OPEN:
                stack.append(_OPEN[self.token])
            elif self.kind == "mark" and stack and self.token == stack[-1]:
                stack.pop()
            self.advance()
            if not stack:
                return self.source[start + 1 : self.place].rstrip()[:-1]

    def skip_location(self) -> None:
        """Skip an optional `loc(...)`."""
        if self.token == "loc" and self.kind == "word":
            self.advance()
            if self.token != "(":
                self.fail("'('")
            self.skip_brackets()


def unquoted(token: str) -> str:
    """The content of a quoted string; bytes outside of ASCII are escaped as \\XX."""
    body = token[1:-1]
    if "\\" not in body:
        return body
    parts = re.sub(r'\\([0-9A-Fa-f]{2}|[nt"\\])', _escaped, body)
    return parts.encode("latin-1", "replace").decode("utf-8", "replace")


def _escaped(found: re.Match[str]) -> str:
    code = found.group(1)
    return {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}.get(code) or chr(int(code, 16))
