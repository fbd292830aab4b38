"""The language server: models are compiled in processes of their own when they are opened and saved."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from aotensor_cli.editor.notes import hover_of, map_lines, message_of, words_of
from aotensor_cli.exploring.child import Problem, compiled, end_all
from aotensor_cli.exploring.session import Document, Place, excerpt
from aotensor_cli.options import NO_FUNCTION
from aotensor_cli.reading.version import installed
from aotensor_runtime.systems.scratch import new_folder, writes_to

SHOW: Final = "aotensor.showIR"
"""The command that shows the IR of a line: arguments are the URI and the line, from 0."""
STAGE: Final = "nest"
"""The stage whose text it shows."""
_MODEL: Final = re.compile(r"^\s*(?:import|from)\s+aotensor\b", re.MULTILINE)
_AT_ONCE: Final = 2
"""Models that are compiled at the same time."""


@dataclass
class _Model:
    """A file that is open.   document: of its last version that could be compiled. task: the compilation that runs"""

    document: Document | None = None
    task: asyncio.Task[None] | None = None
    sources: dict[str, Sequence[str]] = field(default_factory=dict)
    """Path → the lines that were compiled, of the file and of the user's files that it imports."""


class Server:
    """The state of a language server.   seconds: for a compilation; on_open: compile when a file is opened, too"""

    def __init__(self, seconds: float, on_open: bool) -> None:
        self.seconds, self.on_open = seconds, on_open
        self.models: dict[str, _Model] = {}
        self.slots = asyncio.Semaphore(_AT_ONCE)
        self.protocol = protocol = LanguageServer("aotensor", installed("aotensor") or "0")
        features: dict[str, Callable[[Any], Awaitable[Any]]] = {
            types.TEXT_DOCUMENT_DID_OPEN: self._opened,
            types.TEXT_DOCUMENT_DID_SAVE: self._saved,
            types.TEXT_DOCUMENT_DID_CLOSE: self._closed,
            types.TEXT_DOCUMENT_INLAY_HINT: self._hints,
            types.TEXT_DOCUMENT_HOVER: self._hover,
            types.TEXT_DOCUMENT_CODE_ACTION: self._actions,
        }
        for name, handler in features.items():
            protocol.feature(name)(_function(handler))

        async def show(uri: str, row: int) -> str:
            return await self._show(uri, row)

        protocol.command(SHOW)(show)

    def run(self) -> None:
        """Serve stdin and stdout until the client exits; redirect all other output to stderr."""
        with os.fdopen(os.dup(0), "rb") as incoming, os.fdopen(os.dup(1), "wb") as outgoing:
            os.dup2(2, 1)
            try:
                self.protocol.start_io(incoming, outgoing)
            finally:
                end_all()

    # --- compilation -------------------------------------------------------------------------------------------------

    async def _opened(self, params: types.DidOpenTextDocumentParams) -> None:
        if self.on_open:
            self._begin(params.text_document.uri)

    async def _saved(self, params: types.DidSaveTextDocumentParams) -> None:
        uri = params.text_document.uri
        self._begin(uri)
        path = _path(uri)
        for other, model in self.models.items():  # models that import the file
            if other != uri and path in model.sources:
                self._begin(other)

    async def _closed(self, params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        model = self.models.pop(uri, None)
        if model is not None and model.task is not None:
            model.task.cancel()
        self._publish(uri, [])

    def _begin(self, uri: str) -> None:
        """Start compiling a file if it is a model; cancel a running compilation of it."""
        path = _path(uri)
        if path is None or _MODEL.search(self.protocol.workspace.get_text_document(uri).source) is None:
            return
        model = self.models.setdefault(uri, _Model())
        if model.task is not None:
            model.task.cancel()
        model.task = asyncio.get_running_loop().create_task(self._compile(uri, path, model))

    async def _compile(self, uri: str, path: str, model: _Model) -> None:
        async with self.slots:
            found = await compiled((path, "--stage", STAGE), self.seconds)
        if isinstance(found, Problem):
            self._publish(uri, [] if found.title.endswith(NO_FUNCTION) else [self._diagnostic(uri, path, found)])
            return
        model.document = Document(found)
        model.sources = {str(Path(x.path).resolve()): x.lines for x in model.document.sources}
        self._publish(uri, [])
        self._refresh()

    def _publish(self, uri: str, diagnostics: list[types.Diagnostic]) -> None:
        self.protocol.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=uri, diagnostics=diagnostics)
        )

    def _refresh(self) -> None:
        """Ask the client to refresh inlay hints, if it supports that."""
        workspace = self.protocol.client_capabilities.workspace
        if workspace is not None and workspace.inlay_hint is not None and workspace.inlay_hint.refresh_support:
            self.protocol.workspace_inlay_hint_refresh(None)

    def _diagnostic(self, uri: str, path: str, problem: Problem) -> types.Diagnostic:
        """The diagnostic of a problem at its line; of one in another file, at line 1 with a link to that file."""
        text = self.protocol.workspace.get_text_document(uri)
        is_own = problem.file in ("", Path(path).name)
        row = max(problem.line - 1, 0) if is_own else 0
        line = text.lines[row].rstrip("\r\n") if row < len(text.lines) else ""
        begin, end = len(line) - len(line.lstrip()), text.position_codec.client_num_units(line)
        other = Path(path).parent / problem.file
        related = None
        if not is_own and other.is_file():
            start = types.Position(max(problem.line - 1, 0), 0)
            where = types.Location(from_fs_path(str(other)) or "", types.Range(start, start))
            related = [types.DiagnosticRelatedInformation(where, "here")]
        return types.Diagnostic(
            range=types.Range(types.Position(row, begin), types.Position(row, end)),
            message=message_of(problem, path),
            severity=types.DiagnosticSeverity.Error,
            source="aotensor",
            related_information=related,
        )

    # --- known facts -------------------------------------------------------------------------------------------------

    def _known(self, uri: str) -> Iterator[tuple[Document, str, dict[int, int]]]:
        """Documents that contain a file, with its name in each and the map from compiled to current lines."""
        path = _path(uri)
        for model in self.models.values():
            if model.document is not None and path is not None and path in model.sources:
                now = [x.rstrip("\r\n") for x in self.protocol.workspace.get_text_document(uri).lines]
                yield model.document, Path(path).name, map_lines(model.sources[path], now)

    def _at(self, uri: str, row: int) -> Iterator[tuple[Document, Place]]:
        """The documents and places of a row, counted from 0, at the time of compilation."""
        for document, name, lines in self._known(uri):
            yield from ((document, Place(name, old)) for old, new in lines.items() if new == row + 1)

    async def _hints(self, params: types.InlayHintParams) -> list[types.InlayHint]:
        uri, text = params.text_document.uri, self.protocol.workspace.get_text_document(params.text_document.uri)
        found: dict[int, types.InlayHint] = {}
        for document, name, lines in self._known(uri):
            for place in sorted(document.known_places()):
                row = lines.get(place.line, 0) - 1
                wanted = params.range.start.line <= row <= params.range.end.line
                if place.file == name and row not in found and wanted and (words := words_of(document, place)):
                    end = text.position_codec.client_num_units(text.lines[row].rstrip("\r\n"))
                    found[row] = types.InlayHint(types.Position(row, end), words, padding_left=True)
        return list(found.values())

    async def _hover(self, params: types.HoverParams) -> types.Hover | None:
        at = self._at(params.text_document.uri, params.position.line)
        found = next((text for document, place in at if (text := hover_of(document, place))), "")
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, found)) if found else None

    async def _actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        uri, row = params.text_document.uri, params.range.start.line
        if not any(place in document.numbers for document, place in self._at(uri, row)):
            return []
        title = f"aotensor: show the {STAGE} of this line"
        return [types.CodeAction(title, command=types.Command(title, SHOW, arguments=[uri, row]))]

    async def _show(self, uri: str, row: int) -> str:
        """Show what a line became, in a file of its own; returns its text."""
        found: list[str] = []
        name = ""
        for document, place in self._at(uri, row):
            text = next((x for x in reversed(document.texts) if x.name == STAGE), None)
            if text is not None and place in document.numbers:
                found += [f"// {place}, stage {STAGE}", *excerpt(text, document.numbers[place])]
                name = f"{place.file}.{place.line}.{STAGE}.mlir"
                break
        shown = self.protocol.client_capabilities.window
        if found and shown is not None and shown.show_document is not None and shown.show_document.support:
            path = new_folder() / name
            with writes_to(path.parent.parent):
                path.write_text("\n".join([*found, ""]), encoding="utf-8")
            where: Any = from_fs_path(str(path))
            await self.protocol.window_show_document_async(types.ShowDocumentParams(where, take_focus=True))
        return "\n".join(found)


def _function(method: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
    """Wrap a method as a function, since pygls sets attributes on it."""

    async def handle(params: Any) -> Any:
        return await method(params)

    return handle


def _path(uri: str) -> str | None:
    """The file of a URI; None if it does not name a file."""
    path = to_fs_path(uri) if uri.startswith("file:") else None
    return None if path is None else str(Path(path).resolve())
