"""Add to a library the entries that map and check its file of weights.

i32 aotensor_weights_<library>(context, path)                       on systems that can map files
i32 aotensor_set_weights_<library>(context, data, bytes, flags)     everywhere
i32 weights.ready(frame)                                            before the kernel of each call
"""

from __future__ import annotations

from typing import Final

from aotensor.codegen.abi import messages
from aotensor.codegen.abi.translate import add_kernels
from aotensor.codegen.entry.names import OwnSymbols, maps_files
from aotensor.codegen.entry.tables import HIDDEN, Constants
from aotensor.codegen.llvm import Bytes, ir, pointer
from aotensor.codegen.targets.systems import LINUX, system_of
from aotensor.codegen.weights import kernels, mapping, path_linux, path_macos, presence_check
from aotensor.codegen.weights.digest import INITIAL
from aotensor.codegen.weights.state import READY, declare_base
from aotensor_runtime.manifest import Manifest

_LEFT_OUT: Final = ("fail", "say_part")
_ON_LINUX: Final = 0o2004000  # O_CLOEXEC | O_NONBLOCK of x86, Arm and RISC-V: a FIFO must not block
_ON_MACOS: Final = 0x1000004


def add_weights(constants: Constants, manifest: Manifest, start: int) -> None:
    """Define the entries.   start: of the data in the file, in bytes"""
    module, spec = constants.module, manifest.weights
    assert spec is not None
    base = declare_base(module)
    base.initializer, base.linkage = ir.Constant(pointer, None), HIDDEN
    own, is_mapped = OwnSymbols.from_manifest(manifest), maps_files(manifest.target)
    is_linux = system_of(manifest.target) is LINUX
    flags = _ON_LINUX if is_linux else _ON_MACOS
    digest = bytes.fromhex(spec.sha256)
    words = [
        base,
        start,
        spec.bytes,
        constants.data("weights.digest", Bytes(b"".join(digest[k : k + 4][::-1] for k in range(0, 32, 4)))),
        constants.data("weights.initial", Bytes(b"".join(x.to_bytes(4, "little") for x in INITIAL))),
        constants.text(manifest.name),
        constants.text(spec.file),
        constants.text(spec.expectation),
        constants.text(own.weights if is_mapped else own.set_weights),
        flags,
        *["visit"] * is_linux,
    ]
    exported = {"set_weights": own.set_weights, "ready": READY}
    exported |= {"weights": own.weights} if is_mapped else {}
    sources = [
        messages,
        kernels,
        *([mapping, path_linux if is_linux else path_macos] if is_mapped else [presence_check]),
    ]
    add_kernels(constants, sources, exported, words, left_out=_LEFT_OUT, prefix="weights.")
    module.globals[READY].linkage = "internal"
