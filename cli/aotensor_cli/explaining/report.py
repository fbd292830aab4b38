"""Print the answers of `aotensor why`."""

from __future__ import annotations

from collections.abc import Sequence

from aotensor_cli.explaining.answers import About, Loop
from aotensor_cli.explaining.measuring import MeasuredChange
from aotensor_cli.explaining.pairs import LoopSharing
from aotensor_cli.terminal.render import show, time_text
from aotensor_cli.terminal.report import Sources, show_remarks

_MOST_STATEMENTS = 6


def show_about(found: About, sources: Sources, dims: str, measured: Sequence[MeasuredChange]) -> None:
    """Print the explanation of one line."""
    percent = f"{100 * found.share:.0f} %" if found.share >= 0.01 else "less than 1 %"
    share = f"{percent} of the estimated time at {dims}" if found.share else "no time of its own"
    show(f"{found.function}, {found.line}  {sources.line(found.line.file, found.line.number)}".rstrip())
    show(f"  makes {', '.join(f'`{x}`' for x in found.values) or 'nothing that has a name'}; {share}")
    if found.note:
        show(f"  {found.note}")
    for number, statement in enumerate(found.statements[:_MOST_STATEMENTS]):
        if number == 0 or statement.loops != found.statements[number - 1].loops:
            show("")
            _show_loops(statement.loops, "  ")
        indent = "  " * (len(statement.loops) + 1)
        for text in statement.text:
            show(f"{indent}{text}")
    if len(found.statements) > _MOST_STATEMENTS:
        show(f"  and {len(found.statements) - _MOST_STATEMENTS} more: --json has all of them")
    if found.remarks:
        show("")
        show_remarks(found.remarks)
    _show_measured(measured)


def show_together(found: LoopSharing, sources: Sources, measured: Sequence[MeasuredChange]) -> None:
    """Print why two lines do or do not share a loop."""
    for line in found.lines:
        show(f"{found.function}, {line}  {sources.line(line.file, line.number)}".rstrip())
    for note in found.notes:
        show(f"  {note}")
    if found.shared:
        show(f"\n  they share {_named(found.shared[-1])}")
        _show_loops(found.shared, "    ")
    elif not found.notes:
        show("\n  they share no loop")
    for line, loop in zip(found.lines, found.apart, strict=True):
        if loop is not None:
            show(f"  {line} is in {_named(loop)}, of {time_text(loop.seconds)} on one core as estimated")
    for line, names in found.elsewhere:
        show(f"  {line} also has statements elsewhere, in {', '.join(names)}")
    show(f"  {found.relation}")
    if found.decisions:
        show("")
        show_remarks(found.decisions)
    elif not found.shared:
        show("  no pass has a remark about both: ask about each, aotensor why MODEL:LINE")
    if found.directive is not None:
        problem = found.directive.problem
        said = f"is refused: {problem}" if problem else "computes the same: --measure says what it brings"
        show(f"\n  {found.directive} {said}")
    _show_measured(measured)


def _named(loop: Loop) -> str:
    return f"loop {loop.name}" if loop.name else f"a loop ({loop.text})"


def _show_loops(loops: Sequence[Loop], indent: str) -> None:
    for depth, loop in enumerate(loops):
        words = [loop.name, loop.text, *loop.how]
        others = f"   with {', '.join(str(x) for x in loop.shared)}" if loop.shared else ""
        show(f"{indent}{'  ' * depth}{': '.join(filter(None, words[:2]))}{_listed(words[2:])}{others}")


def _listed(words: Sequence[str]) -> str:
    return f" ({'; '.join(words)})" if words else ""


def _show_measured(measured: Sequence[MeasuredChange]) -> None:
    if measured:
        show("")
    for x in measured:
        ratio = x.ratio
        show(f"  {x.what}: {ratio.ratio:.3f} x as long ({ratio.range_text}), {ratio.verdict}")
