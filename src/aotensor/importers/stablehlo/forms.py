"""Parse operations and regions as JAX prints them: in their pretty form, or in MLIR's generic form. One rule parses all
pretty forms: operands, words, `key = value`, in any order, up to the types.
"""

from __future__ import annotations

from aotensor.importers.stablehlo.attributes import Aval, read_attribute, read_dense, read_record, read_type
from aotensor.importers.stablehlo.structure import Operation, Region, Value
from aotensor.importers.stablehlo.text import DamagedText, Text, unquoted

_RETURNS = ("return", "func.return", "stablehlo.return")


class _Scope:
    """Names of values, including those of outer regions."""

    def __init__(self, names: dict[str, list[Value]], outer: _Scope | None) -> None:
        self.names, self.outer = names, outer

    def find(self, name: str) -> list[Value] | None:
        """The results with this name."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None


def read_argument(text: Text, names: dict[str, list[Value]]) -> tuple[str, Value]:
    """`%arg0: type loc(...)`, entered into the names; returns the content of `loc(...)`.   Raises: DamagedText"""
    label = text.expect_kind("value", "an argument")
    text.need(":")
    value = Value(read_type(text))
    if label in names:
        raise DamagedText(f"{text.file}:{text.line}: {label} is defined twice")
    names[label] = [value]
    return read_location(text), value


def read_location(text: Text) -> str:
    """The content of `loc(...)`, "" without one.   Raises: DamagedText"""
    return text.skip_brackets().strip() if text.take("loc") else ""


def read_region(text: Text, arguments: list[Value], names: dict[str, list[Value]], outer: _Scope | None) -> Region:
    """Parse a region `{ ... }` and its returned values. names: of its arguments, to which its values are added

    Raises: DamagedText
    """
    scope = _Scope(names, outer)
    region = Region(arguments)
    text.need("{")
    text.deeper()
    if text.kind == "block":
        text.advance()
        if text.take("("):
            region.arguments = text.parse_list(lambda: read_argument(text, names)[1], ")")
        text.need(":")
    is_open = True
    while not text.take("}"):
        if text.kind == "end":
            text.fail("'}'")
        if not is_open:
            text.fail("'}' after the return")
        operation = _operation(text, scope)
        if operation.name in _RETURNS:
            region.results, is_open = operation.operands, False
        else:
            region.operations.append(operation)
    text.flatter()
    return region


def _operation(text: Text, scope: _Scope) -> Operation:
    labels, line = [], text.line
    if text.kind == "value":
        labels = [_defined(text)]
        while text.take(","):
            labels.append(_defined(text))
        text.need("=")
    count = sum(number for _, number in labels)
    if text.kind == "string":
        operation = _generic(text, scope, line)
    elif text.kind == "word":
        operation = _own(text, scope, line, count)
    else:
        text.fail("an operation")
    text.skip_location()
    if len(operation.results) != count:
        raise DamagedText(
            f"{text.file}:{line}: {operation.name} has {len(operation.results)} results, but {count} names are assigned"
        )
    position = 0
    for label, number in labels:
        if label in scope.names:
            raise DamagedText(f"{text.file}:{line}: {label} is defined twice")
        scope.names[label] = operation.results[position : position + number]
        position += number
    return operation


def _defined(text: Text) -> tuple[str, int]:
    """`%0` or `%0:3`"""
    label = text.expect_kind("value", "a value")
    number = text.expect_kind("number", "a number of results") if text.take(":") else "1"
    if not number.isdigit() or not 1 <= int(number) <= 1 << 16:
        raise DamagedText(f"{text.file}:{text.line}: {label} is given {number} results, not a number from 1 to 65536")
    return label, int(number)


def _operand(text: Text, scope: _Scope) -> Value:
    line = text.line
    token = text.expect_kind("value", "a value")
    label, _, number = token.partition("#")
    found, position = scope.find(label), int(number or 0)
    if found is None:
        raise DamagedText(f"{text.file}:{line}: {label} is used before it is defined")
    if position >= len(found) or (len(found) > 1 and not number):
        raise DamagedText(f"{text.file}:{line}: {token} does not name one result: {label} has {len(found)} results")
    return found[position]


def _generic(text: Text, scope: _Scope, line: int) -> Operation:
    """`"name"(operands) <{properties}> ({regions}) {attributes} : types -> types`"""
    found = Operation(unquoted(text.advance()), line)
    text.need("(")
    found.operands = text.parse_list(lambda: _operand(text, scope), ")")
    if text.take("<"):
        found.attributes.update(read_record(text, "{", "}"))
        text.need(">")
    if text.take("("):
        found.regions = text.parse_list(lambda: read_region(text, [], {}, scope), ")")
    if text.token == "{":
        found.attributes.update(read_record(text, "{", "}"))
    _types(text, found, None)
    return found


def _own(text: Text, scope: _Scope, line: int, count: int) -> Operation:
    name = text.advance()
    found = Operation("func.call" if name == "call" else name, line)
    if name == "stablehlo.constant":
        if text.token == "{":
            read_record(text, "{", "}")
        aval, value = read_dense(text)
        found.attributes["value"], found.results = value, [Value(aval)]
        return found
    if name == "stablehlo.while":
        return _while(text, found, scope)
    if name == "stablehlo.reduce":
        return _reduce(text, found, scope)
    _flat(text, found, scope)
    if text.token == "{":
        found.attributes.update(read_record(text, "{", "}"))
    if text.token == ":":
        _types(text, found, count)
    elif found.operands or count:
        text.fail("':' and types")
    return found


def _flat(text: Text, found: Operation, scope: _Scope) -> None:
    """Operands, words and `key = value`, with or without commas, up to `:`, `{` or `)`."""
    while text.token not in (":", "{", ")", "}", "loc") and text.kind != "end":
        if text.take(","):
            continue
        if text.kind == "value":
            found.operands.append(_operand(text, scope))
        elif text.take("("):
            text.deeper()
            _flat(text, found, scope)
            text.flatter()
            text.need(")")
        elif text.token == "[":
            found.words.append(_ranges(text))
        elif text.kind == "word" and (word := text.advance()):
            if text.take("="):
                found.attributes[word] = read_attribute(text, is_typed=False)
            else:
                found.words.append(word)
        elif text.kind in ("symbol", "string"):
            found.words.append(read_attribute(text))
        else:
            text.fail(f"an operand of {found.name}")


def _ranges(text: Text) -> list[list[int]]:
    """`[0:4, 1:5:2]`"""
    text.need("[")

    def one() -> list[int]:
        numbers = [text.expect_kind("number", "a number")]
        while text.take(":"):
            numbers.append(text.expect_kind("number", "a number"))
        if not all(x.isdigit() for x in numbers):
            text.fail("natural numbers")
        return [int(x) for x in numbers]

    return text.parse_list(one, "]")


def _types(text: Text, found: Operation, count: int | None) -> None:
    """The types after the colon.   count: of results, which may share one type"""
    line = text.line
    text.need(":")
    given: list[Aval]
    if text.take("("):
        given = text.parse_list(lambda: read_type(text), ")")
    else:
        given = [read_type(text)]
        while text.take(","):
            given.append(read_type(text))
    if text.take("->"):
        made = text.parse_list(lambda: read_type(text), ")") if text.take("(") else [read_type(text)]
        expected = given
    else:
        made = given[-1:] if count == 1 else given[: count or 0]
        expected = given * len(found.operands) if len(given) == 1 else given
        if len(given) == 2 and len(found.operands) == 3:  # select: the condition, and what is chosen
            expected = [given[0], given[1], given[1]]
        if found.name in ("stablehlo.clamp", "stablehlo.complex"):  # between numbers; of two parts
            expected = [x.aval for x in found.operands]
    if expected != [x.aval for x in found.operands]:
        raise DamagedText(
            f"{text.file}:{line}: the operands of {found.name} have other types than those written after it"
        )
    found.results = [Value(aval) for aval in made]


def _while(text: Text, found: Operation, scope: _Scope) -> Operation:
    """`(%iterArg = %0, ...) : types cond {...} do {...}`: both regions have the arguments."""
    labels: list[str] = []
    text.need("(")

    def one() -> Value:
        labels.append(text.expect_kind("value", "a value"))
        text.need("=")
        return _operand(text, scope)

    found.operands = text.parse_list(one, ")")
    if len(set(labels)) < len(labels):
        text.fail("different names of arguments")
    if found.operands:
        _types(text, found, len(found.operands))
    if text.take("attributes"):
        found.attributes.update(read_record(text, "{", "}"))
    for word in ("cond", "do"):
        text.skip_location()
        text.need(word)
        arguments = [Value(x.aval) for x in found.operands]
        names = {label: [x] for label, x in zip(labels, arguments, strict=True)}
        found.regions.append(read_region(text, arguments, names, scope))
    return found


def _reduce(text: Text, found: Operation, scope: _Scope) -> Operation:
    """`(%0 init: %1), ... applies op across dimensions = [0] : types`, or with a `reducer` behind."""
    starts: list[Value] = []
    while text.take("("):
        found.operands.append(_operand(text, scope))
        text.need("init")
        text.need(":")
        starts.append(_operand(text, scope))
        text.need(")")
        text.take(",")
    count = len(starts)
    found.operands += starts
    name = text.advance() if text.take("applies") else ""
    text.need("across")
    text.need("dimensions")
    text.need("=")
    found.attributes["dimensions"] = read_attribute(text, is_typed=False)
    if text.token == "{":
        found.attributes.update(read_record(text, "{", "}"))
    _types(text, found, count)
    if name:
        scalars = [Value(x.aval) for x in (*starts, *starts)]
        made = Operation(name, found.line, scalars, [Value(x.aval) for x in starts])
        found.regions = [Region(scalars, [made], made.results)]
        return found
    text.skip_location()
    text.need("reducer")
    left: list[Value] = []
    right: list[Value] = []
    names: dict[str, list[Value]] = {}
    while text.take("("):
        pair = text.parse_list(lambda: read_argument(text, names)[1], ")")
        if len(pair) != 2:
            text.fail("two arguments for each operand")
        left.append(pair[0])
        right.append(pair[1])
    found.regions = [read_region(text, [*left, *right], names, scope)]
    return found
