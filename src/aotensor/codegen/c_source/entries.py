"""C of the entries: typed entries, workspace sizes, and functions that return messages for a status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from aotensor.codegen.c_source.source import CText
from aotensor.codegen.c_source.typed_entry import TypedEntry, distinct_names
from aotensor.codegen.entry.names import OwnSymbols, Symbols
from aotensor.codegen.entry.text import STATUS_TEXTS
from aotensor_runtime.abi import ABI_VERSION, WORKSPACE_ALIGNMENT, Status
from aotensor_runtime.manifest import FunctionSpec, Manifest

_NEEDS: Final[dict[str, tuple[str, ...]]] = {
    "aot_need": ("aot_size",),
    "aot_size": ("aot_bytes",),
    "aot_check_matrix": ("aot_index",),
    "aot_give_array": ("aot_allocate", "aot_size"),
    "aot_give_matrix": ("aot_allocate", "aot_size"),
}


@dataclass
class Entries:
    """Writes the C text of a library's entries, and collects the helper functions that they use."""

    manifest: Manifest
    written: CText
    helpers: set[str] = field(default_factory=set)

    def text(self) -> str:
        """The C text of all entries."""
        parts = [_messages(self.manifest), *(self._function(spec) for spec in self.manifest.functions)]
        return "\n".join(parts)

    def use(self, name: str) -> str:
        """Add a helper function, with the helpers that it calls; return its name."""
        self.helpers.add(name)
        for other in _NEEDS.get(name, ()):
            self.use(other)
        return name

    def _function(self, spec: FunctionSpec) -> str:
        return f"{TypedEntry(self.manifest, self.written, self.use, spec).text()}\n{_workspace(self, spec)}"


def _workspace(entries: Entries, spec: FunctionSpec) -> str:
    symbol = Symbols.in_library(entries.manifest, spec.name).workspace
    names = list(distinct_names(spec).values())[: len(spec.workspace_dims)]
    given = dict(zip(spec.workspace_dims, names, strict=True))
    lines = [f"int64_t {symbol}({', '.join(f'int64_t {x}' for x in names) or 'void'})", "{"]
    function = entries.written.symbols.get(f"{spec.name}.workspace_bytes")
    if function is None:
        lines += [f"  (void){x};" for x in names]
        lines += ["  return -1; /* it depends on values */", "}"]
        return "\n".join(lines) + "\n"
    for group in spec.sparse_inputs:
        pattern, indptr = spec.inputs[group.first], spec.inputs[group.first + 3]
        extent, name = pattern.shape[group.major], indptr.shape[0]
        if isinstance(name, str) and name not in given:
            given[name] = f"{extent if isinstance(extent, int) else given[extent]} + 1"
    if names:
        lines += [f"  if ({' || '.join(f'{x} < 0' for x in names)}) {{", "    return -1;", "  }"]
    lines.append(f"  const int64_t bytes = {function}({', '.join(given[name] for name in spec.dims)});")
    lines += [f"  return bytes < 1 ? bytes : bytes + {WORKSPACE_ALIGNMENT};", "}"]
    return "\n".join(lines) + "\n"


def _messages(manifest: Manifest) -> str:
    """C of aotensor_status_message, aotensor_check_message_<library> and aotensor_abi_version."""
    own, codes = OwnSymbols.from_manifest(manifest), manifest.statuses()
    texts: dict[int, str] = {}
    for spec in manifest.functions:
        for number, check in enumerate(spec.checks, 1):
            code = codes[spec.name, number]
            if code >= Status.CHECK:
                texts[code] = f"{spec.name}: {check.static_text()}"
    common = {int(status): text for status, text in STATUS_TEXTS.items()}
    message = f"{manifest.prefix}aotensor_status_message"
    return "\n".join([
        _switch(f"const char *{own.check_message}(int32_t status)", texts),
        _switch("static const char *aot_common_message(int32_t status)", common),
        f"const char *{message}(int32_t status)",
        "{",
        "  const char *text = aot_common_message(status);",
        f"  text = text != NULL ? text : {own.check_message}(status);",
        '  return text != NULL ? text : "unknown status";',
        "}",
        "",
        f"int32_t {manifest.prefix}aotensor_abi_version(void)",
        "{",
        f"  return {ABI_VERSION};",
        "}",
        "",
    ])  # fmt: skip


def _switch(head: str, texts: Mapping[int, str]) -> str:
    lines = [head, "{", "  const char *text = NULL;"]
    if texts:
        lines.append("  switch (status) {")
        for code, text in texts.items():
            lines += [f"    case {code}:", f"      text = {_quoted(text)};", "      break;"]
        lines += ["    default:", "      break;", "  }"]
    else:
        lines.append("  (void)status;")
    return "\n".join([*lines, "  return text;", "}", ""])


def _quoted(text: str) -> str:
    """A C string literal: ASCII characters, other characters by their UTF-8 bytes."""
    escaped = "".join(
        f"\\{x}" if x in '"\\' else x if " " <= x < "\x7f" else "".join(f"\\{b:03o}" for b in x.encode()) for x in text
    )
    return f'"{escaped}"'.replace("??", '?""?')
