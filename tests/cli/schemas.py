"""Check values against the JSON Schemas of docs/assets, with the keywords that these use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_FOLDER: Final = Path(__file__).parents[2] / "docs" / "assets"
_KNOWN: Final = {
    "$schema", "$defs", "$ref", "title", "description", "type", "properties", "required", "items", "enum", "const",
    "additionalProperties",
}  # fmt: skip
_KINDS: Final[Mapping[str, Any]] = {
    "string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict,
}  # fmt: skip


def check_schema(value: Any, name: str) -> None:
    """Assert that a value is what docs/assets/NAME.schema.json says."""
    root = json.loads((_FOLDER / f"{name}.schema.json").read_text())
    _check(value, root, root.get("$defs", {}), "")


def _check(value: Any, schema: Mapping[str, Any], definitions: Mapping[str, Any], where: str) -> None:
    assert set(schema) <= _KNOWN, where
    if "$ref" in schema:
        return _check(value, definitions[schema["$ref"].rpartition("/")[2]], definitions, where)
    if "const" in schema or "enum" in schema:
        assert value in schema.get("enum", [schema.get("const")]), where
        return None
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    assert any(value is None if x == "null" else isinstance(value, _KINDS[x]) for x in names), (where, value)
    if isinstance(value, list):
        for position, x in enumerate(value):
            _check(x, schema["items"], definitions, f"{where}[{position}]")
    if isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        assert set(schema.get("required", ())) <= set(value), (where, set(value))
        for key, x in value.items():
            assert key in properties or others is not None, f"{where}.{key} is not in the schema"
            _check(x, properties.get(key, others), definitions, f"{where}.{key}")
    return None
