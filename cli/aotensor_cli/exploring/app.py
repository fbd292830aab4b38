"""The terminal application of `aotensor explore`: panes of source, stage text, and remarks, loops, cost or passes."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, TypeAlias

from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.widgets import Footer, Input, Static

from aotensor_cli.exploring.child import Problem
from aotensor_cli.exploring.lines import Lines
from aotensor_cli.exploring.rows import (
    Row,
    cost_rows,
    difference_rows,
    loop_rows,
    pass_rows,
    problem_rows,
    remark_rows,
    same_row,
    source_rows,
    text_rows,
)
from aotensor_cli.exploring.session import Document, Text
from aotensor_cli.terminal.plain import printable

Load: TypeAlias = Callable[[], Awaitable[dict[str, Any] | Problem]]

_EVERY: Final = 0.5
"""Seconds between looks at the files."""
_VIEWS: Final = ("remarks", "loops", "cost", "passes")
_LARGEST: Final = 1 << 24
"""Bytes of a source that is shown although it cannot be compiled."""
_HELP: Final = """\
] [        next or former pass that changed something      enter   choose the line that a row comes from, in all panes
} {        next or former stage                            . ,     next or former row of the chosen line
g          go to a stage or a pass by name                 escape  choose nothing
d          what the pass changed, and back                 1 2 3 4 remarks, loops, cost, passes
/ n N      search in the pane with the frame, go on        a       remarks of all lines, or of the chosen one
tab        next pane                                       f       next source file
r w        compile again; at every save                    q       leave"""


class Explorer(App[None]):  # type: ignore[misc]
    """Shows the document of a model.   load: compiles it. model: its file. watch: compile at every save"""

    TITLE = "aotensor explore"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #top { height: 3fr; }
    #source { width: 2fr; }
    #text { width: 3fr; }
    #below { height: 2fr; }
    Lines { border: round $foreground-muted; border-title-color: $foreground; overflow-x: auto; }
    Lines:focus { border: round $accent; border-title-style: bold; }
    #state { height: 1; background: $panel; }
    #help { height: auto; display: none; background: $panel; }
    #ask { display: none; height: 3; }
    """
    BINDINGS: ClassVar[list[Any]] = [
        Binding("right_square_bracket", "change(1)", "Next pass", key_display="]"),
        Binding("left_square_bracket", "change(-1)", "Former pass", key_display="["),
        Binding("right_curly_bracket", "stage(1)", "Next stage", key_display="}"),
        Binding("left_curly_bracket", "stage(-1)", "Former stage", key_display="{", show=False),
        Binding("d", "difference", "Diff"),
        Binding("g", "ask('go')", "Go to"),
        Binding("slash", "ask('search')", "Search", key_display="/"),
        Binding("n", "again(1)", "Next", show=False),
        Binding("N", "again(-1)", "Former", show=False),
        Binding("full_stop", "occurrence(1)", "Next of line", key_display="."),
        Binding("comma", "occurrence(-1)", "Former of line", show=False),
        Binding("escape", "clear", "Choose nothing", show=False),
        *(Binding(str(number), f"view('{name}')", name.capitalize()) for number, name in enumerate(_VIEWS, 1)),
        Binding("a", "all", "All remarks", show=False),
        Binding("f", "file", "Next file", show=False),
        Binding("r", "compile", "Compile"),
        Binding("w", "watch", "Watch"),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("q", "quit", "Leave"),
    ]

    def __init__(self, load: Load, model: Path, watch: bool = False, start: str = "nest") -> None:
        super().__init__()
        self.load, self.model, self.watch, self.start = load, model, watch, start
        self.document: Document | None = None
        self.problem: Problem | None = None
        self.number = 0
        """Of the text that is shown."""
        self.file = 0
        self.place = -1
        self.below = "remarks"
        self.is_difference = self.shows_all = self.is_busy = False
        self.wanted, self.asked = "", ""
        self.times: dict[str, int] = {}

    def compose(self) -> ComposeResult:
        """Create the panes."""
        yield Static("", id="state", markup=False)
        with Horizontal(id="top"):
            yield Lines("source", id="source")
            yield Lines("text", id="text")
        yield Lines("remarks", id="below")
        yield Static(_HELP, id="help", markup=False)
        yield Input(id="ask")
        yield Footer()

    def pane(self, name: str) -> Lines:
        """A pane by its name."""
        pane: Lines = self.query_one(f"#{name}", Lines)
        return pane

    def on_mount(self) -> None:
        """Compile the model, and watch its files from now on."""
        self.pane("source").focus()
        self.action_compile()
        self.set_interval(_EVERY, self._look)

    # --- compilation -------------------------------------------------------------------------------------------------

    def action_compile(self) -> None:
        """Compile the model; cancel a running compilation."""
        self.times = self._times()
        self.is_busy = True
        self._say()
        self.run_worker(self._compile(), exclusive=True, group="compile")

    async def _compile(self) -> None:
        found = await self.load()
        self.is_busy = False
        if isinstance(found, Problem):
            self.problem = found
            self._show_problem(found)
        else:
            self.problem = None
            self._show_document(Document(found))
        self._say()

    def _times(self) -> dict[str, int]:
        """Path → modification time of the watched files."""
        paths = [str(self.model), *(x.path for x in self.document.sources)] if self.document else [str(self.model)]
        found = {}
        for path in dict.fromkeys(paths):
            try:
                found[path] = os.stat(path).st_mtime_ns
            except OSError:
                found[path] = 0  # it is being written
        return found

    def _look(self) -> None:
        now = self._times() if self.watch else self.times
        if any(now[path] and now[path] != self.times.get(path, now[path]) for path in now):
            self.action_compile()

    def action_watch(self) -> None:
        """Turn compilation at every save on or off."""
        self.watch = not self.watch
        self.times = self._times()
        self._say()

    def _show_document(self, document: Document) -> None:
        """Show a new document; keep stage, file, line and cursors that still exist."""
        name = self.text.name if self.document is not None else self.start
        chosen = self.document.places[self.place] if self.document is not None and self.place >= 0 else None
        self.document = document
        names = [x.name for x in document.texts]
        found = [k for k, x in enumerate(names) if name in (x, x.partition(".")[0])]
        self.number = found[-1] if found else len(names) - 1
        self.file = min(self.file, max(len(document.sources) - 1, 0))
        self.place = document.numbers.get(chosen, -1) if chosen is not None else -1
        self._show_source()
        self._show_text()
        self._show_below()
        self._mark()

    def _show_problem(self, problem: Problem) -> None:
        if self.document is None or problem.file in ("", self.model.name):
            try:
                data = self.model.read_bytes()[:_LARGEST].decode(errors="replace")
            except OSError:
                data = ""
            lines = data.splitlines()
            width = len(str(len(lines)))
            rows = [
                Row(printable(f"{k:{width}}  {x}"), style="removed" if k == problem.line else "")
                for k, x in enumerate(lines, 1)
            ]
            self.pane("source").show(rows, max(problem.line - 1, 0), self.model.name)
        self.pane("below").show(problem_rows(problem), title="it cannot be compiled")

    # --- panes -------------------------------------------------------------------------------------------------------

    @property
    def text(self) -> Text:
        """The text that is shown."""
        assert self.document is not None
        return self.document.texts[self.number]

    def _show_source(self) -> None:
        assert self.document is not None
        pane = self.pane("source")
        if self.document.sources:
            source = self.document.sources[self.file]
            pane.show(source_rows(self.document, source), pane.cursor, source.name)

    def _show_text(self) -> None:
        assert self.document is not None
        pane, text = self.pane("text"), self.text
        former = self.document.texts[self.number - 1] if self.number else None
        is_difference = self.is_difference and former is not None
        rows = difference_rows(former, text) if is_difference and former is not None else text_rows(text)
        title = f"{text.kind} {text.name}" + (f", compared with {former.name}" if is_difference and former else "")
        pane.show(rows, same_row(rows, pane.row), title)

    def _show_below(self) -> None:
        assert self.document is not None
        makers: dict[str, Callable[[Document], Sequence[Row]]] = {
            "remarks": lambda x: remark_rows(x, -1 if self.shows_all else self.place),
            "loops": loop_rows, "cost": cost_rows, "passes": pass_rows,
        }  # fmt: skip
        rows = makers[self.below](self.document)
        cursor = next((k for k, x in enumerate(rows) if x.target == self.text.name), 0) if self.below == "passes" else 0
        about = f" of {self.document.places[self.place]}" if self.below == "remarks" and self._is_about_one else ""
        self.pane("below").show(rows, cursor, f"{self.below}{about}")

    @property
    def _is_about_one(self) -> bool:
        return self.place >= 0 and not self.shows_all

    def _mark(self, chooser: Lines | None = None) -> None:
        for name in ("source", "text", "below"):
            pane = self.pane(name)
            is_all = name == "below" and self.below == "remarks" and self._is_about_one
            pane.mark(-1 if is_all else self.place, moves=pane is not chooser)
        self._say()

    def _say(self) -> None:
        """Update the status line at the top."""
        words = [printable(str(self.model))]
        if self.document is not None:
            texts, text = self.document.texts, self.text
            changed = "" if text.changed or text.kind == "stage" else ", changed nothing"
            words.append(f"{text.kind} {text.name}, {self.number + 1} of {len(texts)}{changed}")
            words += [f"line {self.document.places[self.place]}"] if self.place >= 0 else []
        words += ["compiling ..."] if self.is_busy else []
        words += ["watched"] if self.watch else []
        older = ", the panes show an older version" if self.document is not None else ""
        words += [f"it cannot be compiled{older}"] if self.problem is not None else []
        self.query_one("#state", Static).update("  ·  ".join(words))

    # --- keys --------------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable most keys while no compilation has succeeded."""
        needs = ("change", "stage", "difference", "occurrence", "view", "all", "file", "clear")
        return not (self.document is None and action in needs)

    def _go(self, number: int) -> None:
        self.number = number
        self._show_text()
        self.pane("text").mark(self.place, moves=False)
        self._say()

    def action_change(self, by: int) -> None:
        """Go to the next pass or stage that changed the text, or to the previous one."""
        assert self.document is not None
        self._step(by, [k for k, x in enumerate(self.document.texts) if x.changed])

    def action_stage(self, by: int) -> None:
        """Go to the next or previous stage."""
        assert self.document is not None
        self._step(by, [k for k, x in enumerate(self.document.texts) if x.kind == "stage"])

    def _step(self, by: int, numbers: Sequence[int]) -> None:
        later = [k for k in numbers if (k - self.number) * by > 0]
        if later:
            self._go(later[0] if by > 0 else later[-1])

    def action_difference(self) -> None:
        """Switch between the difference that a pass made and its full text."""
        self.is_difference = not self.is_difference
        self._go(self.number)

    def action_view(self, name: str) -> None:
        """Show another view in the lower pane."""
        self.below = name
        self._show_below()
        self.pane("below").mark(self.place, moves=name != "passes")

    def action_all(self) -> None:
        """Switch between remarks on all lines and those on the chosen line."""
        self.shows_all = not self.shows_all
        self.action_view("remarks")

    def action_file(self) -> None:
        """Show the next source file."""
        assert self.document is not None
        self.file = (self.file + 1) % max(len(self.document.sources), 1)
        self._show_source()
        self.pane("source").mark(self.place, moves=True)

    def action_clear(self) -> None:
        """Choose no line."""
        self.place = -1
        self._show_below()
        self._mark()

    def action_occurrence(self, by: int) -> None:
        """Go to the next or previous row of the chosen line."""
        if not self.pane("text").occurrence(by):
            is_chosen = self.place >= 0
            self.notify("nothing of the chosen line is in this text" if is_chosen else "choose a line first: enter")

    def action_help(self) -> None:
        """Show the keys, or hide them."""
        self.query_one("#help").toggle_class("shown")
        self.query_one("#help").display = self.query_one("#help").has_class("shown")

    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        """Mark the line of a chosen row in all panes; show a chosen loop in stage nest, and a chosen pass's text."""
        if self.document is None or (self.problem is not None and message.pane.id != "text"):
            return
        row = message.row
        names = [x.name for x in self.document.texts]
        if message.pane.id == "below":
            if isinstance(row.target, int):
                self._go(names.index("nest"))
            elif self.below == "passes" and row.target in names:
                self._go(names.index(row.target))
        if row.place >= 0:
            self.place = row.place
            self._show_file_of(row.place)
            if message.pane.id != "below" and self.below == "remarks":
                self._show_below()
            self._mark(message.pane)
            if message.pane.id == "below" and isinstance(row.target, int) and not self.is_difference:
                self.pane("text").put(row.target)

    def _show_file_of(self, place: int) -> None:
        assert self.document is not None
        names = [x.name for x in self.document.sources]
        name = self.document.places[place].file
        if name in names and names.index(name) != self.file:
            self.file = names.index(name)
            self._show_source()

    # --- questions ---------------------------------------------------------------------------------------------------

    def action_ask(self, what: str) -> None:
        """Ask for a text to search for, or a stage to go to."""
        if what == "go" and self.document is None:
            return
        self.asked = what
        self.asker = self.focused if isinstance(self.focused, Lines) else self.pane("text")
        field = self.query_one("#ask", Input)
        field.placeholder = "search for" if what == "search" else "stage or pass, or how it begins"
        field.value, field.display = "", True
        field.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Run the search or go to the stage that the user entered."""
        event.input.display = False
        self.asker.focus()
        if self.asked == "search":
            self.wanted = event.value
            self.action_again(1)
        elif self.document is not None and event.value:
            names = [x.name for x in self.document.texts]
            found = [k for k, x in enumerate(names) if x == event.value] or [
                k for k, x in enumerate(names) if x.startswith(event.value)
            ]
            if found:
                self._go(found[0])
            else:
                self.notify(f"no stage or pass begins with {printable(event.value)}")

    def on_key(self, event: Any) -> None:
        """Close the input on Escape."""
        field = self.query_one("#ask", Input)
        if event.key == "escape" and field.display and field.has_focus:
            field.display = False
            self.asker.focus()
            event.stop()

    def action_again(self, by: int) -> None:
        """Repeat the search."""
        pane = self.focused if isinstance(self.focused, Lines) else self.pane("text")
        if self.wanted and not pane.search(self.wanted, by):
            self.notify(f"{printable(self.wanted)} is not in this pane")
