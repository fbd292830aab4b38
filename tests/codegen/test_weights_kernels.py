"""The digest of weights and the entry that accepts them, without a library around them, against hashlib."""

from __future__ import annotations

import ctypes
import hashlib
from pathlib import Path

import numpy as np
import pytest

from aotensor.codegen.entry.names import OwnSymbols
from aotensor.codegen.entry.tables import Constants
from aotensor.codegen.library import Blueprint
from aotensor.codegen.machine import Machine
from aotensor.codegen.parts import digest_parts, empty_module
from aotensor.codegen.targets.link import link
from aotensor.codegen.weights.digest import INITIAL, define_compress
from aotensor.codegen.weights.entries import add_weights
from aotensor.codegen.weights.file import WeightsFile, WeightsPool
from aotensor_runtime.abi import Context, Status
from aotensor_runtime.weights.spec import WeightsSpec


@pytest.mark.parametrize("cpu", [None, "generic"])
def test_the_digest_of_blocks(cpu: str | None, tmp_path: Path, rng: np.random.Generator) -> None:
    """On this CPU, maybe by its instructions for SHA-256, and by those that all have."""
    machine = Machine.parse(None, cpu)
    module = empty_module(machine)
    define_compress(module, machine.features)
    module.globals["weights.compress"].linkage = ""
    code = machine.object_code(machine.optimise(module))
    (tmp_path / "d.so").write_bytes(
        link([code], triple=machine.triple, name="d.so", exported=["weights.compress"]).library
    )
    compress = ctypes.CDLL(str(tmp_path / "d.so"))["weights.compress"]
    compress.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    data = rng.integers(0, 256, 6400 - 9, dtype=np.uint8).tobytes()
    padded = np.frombuffer(data + b"\x80" + (8 * len(data)).to_bytes(8, "big"), np.uint8)
    state = np.array(INITIAL, "<u4")
    compress(state.ctypes.data, padded.ctypes.data, 1)
    compress(state.ctypes.data, padded.ctypes.data + 64, 99)
    assert state.astype(">u4").tobytes() == hashlib.sha256(data).digest()


@pytest.mark.parametrize("size", [1, 55, 56, 63, 64, 65, 119, 120, 1000])
def test_memory_is_accepted_by_its_digest(size: int, tmp_path: Path, rng: np.random.Generator) -> None:
    machine = Machine.parse(None)
    content = rng.integers(0, 256, size, dtype=np.uint8).tobytes()
    file = WeightsFile(WeightsSpec("w.bin", size, hashlib.sha256(content).hexdigest()), content, 0)
    manifest = Blueprint("model", (), machine, "0", weights=file).manifest()
    module = empty_module(machine)
    add_weights(Constants(module), manifest, 0)
    (part,) = digest_parts(manifest)
    codes = [machine.object_code(machine.optimise(x)) for x in (module, part.make(machine))]
    own = OwnSymbols.from_manifest(manifest)
    found = link(codes, triple=machine.triple, name="m.so", exported=[own.set_weights, own.weights])
    (tmp_path / "m.so").write_bytes(found.library)
    accept = ctypes.CDLL(str(tmp_path / "m.so"))[own.set_weights]
    accept.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32]
    room = np.empty(size + 64, np.uint8)
    memory = room[-room.ctypes.data % 64 :][:size]
    memory[:] = np.frombuffer(content, np.uint8)
    said = ctypes.create_string_buffer(300)
    context = Context(struct_size=ctypes.sizeof(Context), message=ctypes.addressof(said), message_size=len(said))
    given = ctypes.addressof(context), memory.ctypes.data, size, 0
    for k in {0, size // 2, size - 1}:
        memory[k] ^= 16
        assert accept(*given) == Status.WRONG_WEIGHTS
        assert said.value.decode() == (
            f"model: weights: data have another digest, expected {size} bytes with SHA-256 {file.spec.sha256}"
        )
        memory[k] ^= 16
    context.message_size = 8
    assert accept(None, None, size, 0) == accept(*given[:1], None, size, 0) == Status.NULL_POINTER
    assert said.value == b"model: ", "a short message is cut off"
    assert accept(*given) == 0
    assert accept(None, None, 0, 0) == 0, "they are in use"


def test_equal_constants_are_stored_once() -> None:
    pool = WeightsPool(10, {hashlib.sha256(bytes(range(2, 18))).digest(): ("named", "uint8")})
    assert pool.accepts(11) and not pool.accepts(10)
    assert pool.file("w", "model") is None
    first = pool.add("constant.0", "i8", (3, 5), bytes(range(15)))
    second = pool.add("constant.0", "f32", (2, 2), bytes(range(16)))
    assert pool.add("constant.7", "ui8", (15,), bytes(range(15))) is first
    assert (first.offset, second.offset) == (0, 64)
    assert [first.name, second.name] == ["constant.0", "constant.0.1"]
    assert pool.add("x", "vector<4xf32>", (1,), bytes(range(1, 17))).dtype == "U8"
    assert pool.add("x", "i8", (16,), bytes(range(2, 18))).name == "named"
    assert pool.add("x", "i8", (16,), bytes(range(2, 18))).dtype == "U8"
