"""The structs of abi.py are those of aotensor.h, as the C compiler lays them out; so are the codes."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import pytest
from needs import NEEDS

from aotensor_runtime import abi

CC = NEEDS["cc"].path


def _program() -> str:
    lines = []
    for name, struct in abi.STRUCTS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        for field, *_ in struct._fields_:
            lines.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));')
    for name in _constants():
        lines.append(f'printf("{name} %d\\n", (int){name});')
    body = "\n  ".join(lines)
    head = '#include <stddef.h>\n#include <stdio.h>\n#include "aotensor.h"\n'
    return f"{head}int main(void) {{\n  {body}\n  return 0;\n}}\n"


def _constants() -> dict[str, int]:
    """Every constant of the header that Python knows too."""
    codes = {f"AOTENSOR_{name.upper()}": code for name, code in abi.DTYPE_CODES.items()}
    statuses = {f"AOTENSOR_{status.name}": int(status) for status in abi.Status}
    flags = {"AOTENSOR_CANONICAL": abi.CANONICAL, "AOTENSOR_WEIGHTS_CHECKED": abi.WEIGHTS_CHECKED}
    return codes | statuses | flags | {"AOTENSOR_ABI_VERSION": abi.ABI_VERSION}


@pytest.mark.needs("cc")
def test_offsets_are_those_of_the_c_compiler(tmp_path: Path) -> None:
    source, program = tmp_path / "offsets.c", tmp_path / "offsets"
    source.write_text(_program())
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{abi.HEADER.parent}"]
    subprocess.run([str(CC), *flags, str(source), "-o", str(program)], check=True)
    said = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    found = {name: int(value) for name, value in (line.split() for line in said.splitlines())}
    expected = _constants()
    for name, struct in abi.STRUCTS.items():
        expected[name] = ctypes.sizeof(struct)
        expected |= {f"{name}.{field}": getattr(struct, field).offset for field, *_ in struct._fields_}
    assert found == expected


def test_every_struct_and_constant_of_the_header_is_known() -> None:
    text = abi.HEADER.read_text()
    assert set(re.findall(r"^typedef struct (\w+)", text, re.MULTILINE)) == set(abi.STRUCTS)
    assert set(re.findall(r"^  (AOTENSOR_\w+)\s*=", text, re.MULTILINE)) == set(_constants()) - {"AOTENSOR_ABI_VERSION"}


def test_every_field_of_the_header_has_a_comment() -> None:
    text = abi.HEADER.read_text()
    for struct in re.findall(r"typedef struct \w+ \{\n(.*?)\n\}", text, re.DOTALL):
        whole = re.sub(r"\((?:[^()]|\([^()]*\))*\);", "", struct)  # prototypes say what they take
        bare = [line for line in whole.splitlines() if line.rstrip().endswith(";") and "/*" not in line]
        assert bare == []
