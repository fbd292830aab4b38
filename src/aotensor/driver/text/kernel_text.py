"""Print the assembly of selected functions, without directives, and with the user's source lines.

.type  f.kernel,@function          # f.kernel: model.py:7, model.py:8
f.kernel:                    →     f.kernel:
.loc   1 7 0                         # model.py:7
    vmulpd %zmm1, %zmm0, %zmm0           vmulpd %zmm1, %zmm0, %zmm0
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os.path import basename
from typing import Final, TypeAlias

Line: TypeAlias = tuple[str, int]
"""(file without its folder, line)."""

_LABEL: Final = re.compile(r'^"?([A-Za-z_.$][^\s":]*)"?:')
_CONSTANT: Final = re.compile(r"\.?LCPI\d+_\d+")
_JUMP_TABLE: Final = re.compile(r"\.?LJTI\d+_\d+")
_END: Final = re.compile(r"^\.?L?func_end\d+:|^\.?Lfunc_end\d+:|^\s*\.cfi_endproc")
_FILE: Final = re.compile(r'^\s*\.file\s+(\d+)(?:\s+"(?:[^"\\]|\\.)*")?\s+"((?:[^"\\]|\\.)*)"')
LOC: Final = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)")
"""(number of a file in the line table of the assembly, line)."""
_DATA: Final = re.compile(r"^\s*\.(?:quad|long|short|byte|zero|[248]byte|xword|word|hword|ascii|asciz)\b")


def kernel_text(
    assembly: str, functions: Mapping[str, Sequence[Line]], comment: str, source: Callable[[str, int], str]
) -> str:
    """The assembly of some functions, and of the constants that they read.

    functions: symbol → source lines. comment: the comment sign. source: returns the text of a line.

    With line tables, each change of the line is printed; otherwise the lines of a function are listed at its start.
    """
    lines = assembly.splitlines()
    files = file_names(lines)
    blocks = list(_functions(lines, functions))
    has_lines = any(LOC.match(line) for _, body in blocks for line in body)
    what = "behind each line of the model, what was made for it" if has_lines else "lines of the model by function"
    parts = [f"{comment} {what}\n"]
    for symbol, body in blocks:
        places = functions[symbol]
        parts.append(f"{comment} {symbol}{', which belongs to no line' if not places else ', made of:'}\n")
        parts += [f"{comment}   {_place(place, source)}\n" for place in places]
        parts += [f"{line}\n" for line in _annotated(body, files, comment, source)]
        parts.append("\n")
    text = "".join(parts)
    constants = _constants(lines, set(_CONSTANT.findall(text)) | set(_JUMP_TABLE.findall(text)))
    return f"{text}{comment} constants\n{constants}" if constants else text.rstrip("\n") + "\n"


def _functions(lines: Sequence[str], wanted: Mapping[str, object]) -> Iterator[tuple[str, list[str]]]:
    """(symbol, lines of assembly with the label first) of each wanted function."""
    symbol, body = "", list[str]()
    for line in lines:
        label = _LABEL.match(line)
        if not symbol and label is not None and label[1] in wanted:
            symbol = label[1]
        if symbol and _END.match(line):
            yield symbol, body
            symbol, body = "", []
        elif symbol:
            body.append(line)


def _annotated(
    body: Sequence[str], files: Mapping[int, str], comment: str, source: Callable[[str, int], str]
) -> Iterator[str]:
    """The labels of jump targets and the instructions, each preceded by its source line where that changes."""
    used = {word for line in body if not _LABEL.match(line) for word in re.findall(r"\.?L\w+", line)}
    shown: Line | None = None
    wanted: Line | None = None
    for line in body:
        position = LOC.match(line)
        label = _LABEL.match(line)
        if position is not None:
            wanted = (files.get(int(position[1]), ""), int(position[2]))
        elif label is not None:
            if not re.match(r"\.?L", label[1]) or label[1] in used:
                yield line
        elif line.strip() and not re.match(rf"\s*(\.|{re.escape(comment)})", line):
            if wanted is not None and wanted != shown:
                shown = wanted
                yield f"  {comment} {_place(wanted, source) if wanted[1] else 'no line of the model'}"
            yield line


def _place(place: Line, source: Callable[[str, int], str]) -> str:
    text = source(*place)
    return f"{place[0]}:{place[1]}{'  ' if text else ''}{text}"


def file_names(lines: Iterable[str]) -> dict[int, str]:
    """Number in the assembly's line tables → file name without its folder."""
    found = (_FILE.match(line) for line in lines if ".file" in line)
    return {int(match[1]): basename(unescaped(match[2], 8)) for match in found if match is not None}


def unescaped(text: str, base: int) -> str:
    """The text of a quoted string; bytes of UTF-8 are octal escapes in assembly (base 8), hex in MLIR (base 16)."""
    escape = rb"\\([0-7]{3}|.)" if base == 8 else rb"\\([0-9A-Fa-f]{2}|.)"
    raw = re.sub(escape, lambda x: bytes([int(x[1], base)]) if len(x[1]) > 1 else x[1], text.encode())
    return raw.decode(errors="replace")


def _constants(lines: Sequence[str], wanted: set[str]) -> str:
    """The data directives that follow the wanted labels."""
    kept, is_inside = list[str](), False
    for line in lines:
        label = _LABEL.match(line)
        if label is not None:
            is_inside = label[1] in wanted
        elif not _DATA.match(line):
            is_inside = False
        if is_inside:
            kept.append(f"{line}\n")
    return "".join(kept)
