"""Kernels that find the file of weights next to the library, and map it: on Linux and macOS.

The file is mapped read-only, so that processes share its memory. Threads whose first calls meet may each map and check
it; the first one's mapping stays. So no thread waits, and a `fork` meanwhile leaves no lock behind.
"""

from __future__ import annotations

from typing import Final

from aotensor.codegen.abi.language import WORD, Address, Int32, byte, copy, length, set_byte, stack, table, text, word
from aotensor.codegen.abi.messages import BUFFER, say, say_number
from aotensor.codegen.entry.tables import Frame
from aotensor.codegen.weights.kernels import (
    BASE,
    ENTRY,
    FILE,
    NO_WEIGHTS,
    READING,
    SIZE,
    START,
    WRONG_WEIGHTS,
    are_there,
    begin_message,
    is_expected,
    refuse,
)
from aotensor.codegen.weights.language import (
    close,
    map_file,
    open_to_read,
    publish,
    real_path,
    seek,
    unmap,
)
from aotensor.codegen.weights.path_linux import library_path

CONTEXT: Final = Frame.context.offset // WORD
MOST: Final = 4096
"""Bytes of the longest path, with the final zero."""
LARGEST: Final = 1 << 62
"""Bytes; `lseek` on a folder returns more, or fails."""
SLASH: Final = 47
FROM_END: Final = 2  # SEEK_END
READABLE: Final = 1  # PROT_READ
PRIVATE: Final = 2  # MAP_PRIVATE
FAILED: Final = -1  # MAP_FAILED


def ready(frame: Address) -> Int32:
    """Make sure that the weights are in memory.   frame: of the call"""
    if are_there():
        return 0
    return map_nearby(word(frame, CONTEXT))


def weights(context: Address, path: Address) -> Int32:
    """Map the file at a path; at NULL, the one next to the library."""
    if are_there():
        return 0
    if path == 0:
        return map_nearby(context)
    return map_at(context, path)


def map_nearby(context: Address) -> int:
    """Map the file next to the library: at the path that it was loaded from, else where that path leads to."""
    library = library_path()
    path = stack(MOST)
    real = stack(MOST)
    if library == 0 or not is_nearby(library, path):
        buffer = stack(BUFFER)
        begin_message(buffer)
        say(buffer, text("the folder of the library is unknown: call "))
        say(buffer, word(table(), ENTRY))
        say(buffer, text(" with the path of "))
        say(buffer, word(table(), FILE))
        say(buffer, text(", "))
        return refuse(context, buffer, NO_WEIGHTS)
    handle = open_to_read(path, word(table(), READING))
    if handle < 0 and real_path(library, real) != 0 and is_nearby(real, real):
        handle = open_to_read(real, word(table(), READING))
        if handle >= 0:
            return map_opened(context, real, handle)
    return map_opened(context, path, handle)


def is_nearby(library: Address, path: Address) -> bool:
    """Write the path of the file in the folder of a library; false if the folder is unknown or the path too long."""
    folder = length(library)
    while folder > 0 and byte(library, folder - 1) != SLASH:
        folder -= 1
    name = length(word(table(), FILE))
    if folder == 0 or folder + name >= MOST:
        return False
    if path != library:
        copy(path, library, folder)
    copy(path + folder, word(table(), FILE), name)
    set_byte(path, folder + name, 0)
    return True


def map_at(context: Address, path: Address) -> int:
    """Map the file at a path."""
    return map_opened(context, path, open_to_read(path, word(table(), READING)))


def map_opened(context: Address, path: Address, handle: int) -> int:
    """Map a file that was opened, check it, and close it.   handle: negative if it could not be opened"""
    buffer = stack(BUFFER)
    begin_message(buffer)
    say(buffer, path)
    if handle < 0:
        say(buffer, text(": there is no such file, or it cannot be read: expected "))
        return refuse(context, buffer, NO_WEIGHTS)
    size = seek(handle, 0, FROM_END)
    if size < 0 or size > LARGEST:
        close(handle)
        say(buffer, text(": it is not a regular file, expected "))
        return refuse(context, buffer, NO_WEIGHTS)
    if size != word(table(), SIZE):
        close(handle)
        say(buffer, text(": it has "))
        say_number(buffer, size)
        say(buffer, text(" bytes, expected "))
        return refuse(context, buffer, WRONG_WEIGHTS)
    data = map_file(0, size, READABLE, PRIVATE, handle, 0)
    close(handle)
    if data == FAILED:
        say(buffer, text(": it cannot be mapped into memory, expected "))
        return refuse(context, buffer, NO_WEIGHTS)
    if not is_expected(data, size):
        unmap(data, size)
        say(buffer, text(": its content is another one, expected "))
        return refuse(context, buffer, WRONG_WEIGHTS)
    if publish(word(table(), BASE), data + word(table(), START)) == 0:
        unmap(data, size)
    return 0
