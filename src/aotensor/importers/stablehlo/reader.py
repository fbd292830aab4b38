"""Parse a text to a module: functions with their arguments and attributes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aotensor.importers.stablehlo.attributes import Aval, read_attribute, read_record, read_type
from aotensor.importers.stablehlo.forms import read_argument, read_location, read_region
from aotensor.importers.stablehlo.structure import Function, Module, Value
from aotensor.importers.stablehlo.text import DamagedText, Text, unquoted


def read_module(source: str, file: str) -> Module:
    """Parse a module.   Raises: DamagedText with the line"""
    return _Reader(Text(source, file)).module()


class _Reader:
    def __init__(self, text: Text) -> None:
        self._text = text
        self._aliases: dict[str, str] = {}

    def module(self) -> Module:
        text, name = self._text, ""
        self._skip_aliases()
        is_wrapped = text.take("module")
        if is_wrapped:
            name = text.advance()[1:].strip('"') if text.kind == "symbol" else ""
            if text.take("attributes"):
                read_record(text, "{", "}")
            text.need("{")
        functions: dict[str, Function] = {}
        while self._skip_meshes() or text.token == "func.func":
            f = self._function()
            if f.name in functions:
                raise DamagedText(f"{text.file}:{f.line}: there are two functions @{f.name}")
            functions[f.name] = f
        if is_wrapped:
            text.need("}")
            text.skip_location()
        self._skip_aliases()
        if text.kind != "end":
            text.fail("func.func")
        if not functions:
            raise DamagedText(f"{text.file}: this is not a module of StableHLO: it has no function")
        self._name_arguments(functions.values())
        return Module(name, functions)

    def _skip_aliases(self) -> None:
        """`#loc1 = loc("x")`: the quoted text is the name of an argument."""
        text = self._text
        while text.kind == "alias":
            label = text.advance()
            text.need("=")
            if text.token == "loc":
                text.advance()
                self._aliases[label] = text.skip_brackets().strip()
            else:
                read_attribute(text)

    def _skip_meshes(self) -> bool:
        """`sdy.mesh @mesh = <...>`, which says how devices are arranged.   Returns: False, as no function is read"""
        text = self._text
        while text.take("sdy.mesh"):
            text.expect_kind("symbol", "the name of a mesh")
            text.need("=")
            text.skip_brackets()
            text.skip_location()
        return False

    def _name_arguments(self, functions: Iterable[Function]) -> None:
        for f in functions:
            f.labels = [self._aliases.get(label, label) for label in f.labels]
            f.labels = [
                unquoted(label) if len(label) > 1 and label[0] == label[-1] == '"' else "" for label in f.labels
            ]

    def _function(self) -> Function:
        text, line = self._text, self._text.line
        text.need("func.func")
        while text.kind == "word":
            text.advance()  # public, private
        name = text.expect_kind("symbol", "the name of a function")[1:].strip('"')
        names: dict[str, list[Value]] = {}
        notes: list[dict[str, Any]] = []
        labels: list[str] = []
        text.need("(")

        def argument() -> Value:
            label, value = read_argument(text, names)
            notes.append(read_record(text, "{", "}") if text.token == "{" else {})
            labels.append(label or read_location(text))
            return value

        arguments = text.parse_list(argument, ")")
        result_notes: list[dict[str, Any]] = []
        declared = self._results(result_notes) if text.take("->") else []
        if text.take("attributes"):
            read_record(text, "{", "}")
        if text.token != "{":
            text.fail("the body of a function")
        body = read_region(text, arguments, names, None)
        text.skip_location()
        if [x.aval for x in body.results] != declared:
            raise DamagedText(f"{text.file}:{line}: @{name} returns other types than it declares")
        return Function(name, body, labels, notes, result_notes, line)

    def _results(self, notes: list[dict[str, Any]]) -> list[Aval]:
        text = self._text
        if not text.take("("):
            notes.append({})
            return [read_type(text)]

        def one() -> Aval:
            aval = read_type(text)
            notes.append(read_record(text, "{", "}") if text.token == "{" else {})
            text.skip_location()
            return aval

        return text.parse_list(one, ")")
