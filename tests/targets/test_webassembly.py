"""Libraries for WebAssembly: C programs in wasmtime, and the JavaScript module in Node."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import foreign
import numpy as np
import pytest
from foreign import Made

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.codegen.entry.layout import offset_of, size_of
from aotensor_runtime import Library
from aotensor_runtime.abi import HEADER, STRUCTS

pytestmark = pytest.mark.needs("zig")

WASI = """
import sys, wasmtime
engine = wasmtime.Engine()
store, linker, config = wasmtime.Store(engine), wasmtime.Linker(engine), wasmtime.WasiConfig()
config.inherit_stdout()
store.set_wasi(config)
linker.define_wasi()
linker.instantiate(store, wasmtime.Module.from_file(engine, sys.argv[1])).exports(store)["_start"](store)
"""
CALLS = """
import {{ AotensorError, load }} from "./model.mjs";
const bits = (x) => Buffer.from(x.buffer, x.byteOffset, x.byteLength).toString("hex");
const m = await load();
const given = {given};
const x = Float64Array.from(given.x), v = Float64Array.from(given.v);
const found = m.gradient(x), again = m.gradient({{ x }});
const product = m.product(given.a, {{ data: Float64Array.from(given.b.flat()), shape: [{inner}, {columns}] }});
const picked = m.pick(Float32Array.from(given.x), {first});
const [indices, indptr] = [given.indices, given.indptr].map((part) => Int32Array.from(part));
const S = {{ data: x, indices, indptr, shape: [{n}, {n}] }};
const halves = m.halves(Uint16Array.from(given.p), Uint16Array.from(given.q));
const lines = {{
  loss: bits(Float64Array.of(found.loss)), grad: bits(found.grad.data), product: bits(product.data),
  picked: bits(picked.data), spread: bits(m.spread(S, v).data), version: m.manifest.abi,
  half: bits(halves.half.data), brain: bits(halves.brain.data),
}};
const failures = {{
  message: () => m.product(given.a, given.a),
  dtype: () => m.pick(x, 1), count: () => m.gradient(), rank: () => m.product(x, x),
  bits: () => m.halves([0.5], [0.5]),
  shape: () => m.product({{ data: x, shape: [2, 2] }}, given.b), sparse: () => m.spread(x, v),
  name: () => m.gradient({{ x, y: 1 }}), text: () => m.pick("x", 1),
}};
for (const [name, call] of Object.entries(failures)) {{
  try {{ call(); lines[name] = "nothing"; }} catch (e) {{ lines[name] = `${{e.message}}`; }}
}}
lines.again = again.loss === found.loss && product.shape.join() === "{rows},{columns}";
lines.kept = Array.from({{ length: 50 }}, () => m.gradient(new Float64Array(100000)).loss).every((y) => y === 100000);
for (const [name, text] of Object.entries(lines)) console.log(name, String(text));
"""


def test_c_programs(made: Made, here: Callable[[str], Library]) -> None:
    """With pointers of 32 bits and the same header; `strict` gives the same bits without fused operations, too."""
    pytest.importorskip("wasmtime", reason="no wasmtime (pip install wasmtime)")
    program = foreign.compiled("wasm32-wasi", made("wasm32-wasi", "strict"), "libmodel.a", name="driver.wasm")
    foreign.compare(foreign.run([sys.executable, "-c", WASI, program], program.parent), here("strict"), is_strict=True)


def test_javascript(made: Made, here: Callable[[str], Library]) -> None:
    node = foreign.tool("node", "nodejs")
    folder = made("wasm32-wasi", "strict")
    arguments = foreign.arguments()
    S, v = arguments["spread"]
    a, b = arguments["product"]
    p, q = (x.view(np.uint16) for x in arguments["halves"])
    given = {"x": arguments["gradient"][0], "v": v, "a": a, "b": b, "indices": S.indices, "indptr": S.indptr}
    given |= {"p": p, "q": q}
    text = CALLS.format(
        given=json.dumps({name: x.tolist() for name, x in given.items()}), n=foreign.N, first=foreign.FIRST,
        rows=foreign.ROWS, inner=foreign.INNER, columns=foreign.COLUMNS,
    )  # fmt: skip
    (folder / "calls.mjs").write_text(text)
    output = foreign.run([node, "calls.mjs"], folder)
    foreign.compare(output, here("strict"), is_strict=True)
    found = foreign.read(output)
    assert found["again"] == found["kept"] == "true"
    assert {name: found[name] for name in ("dtype", "count", "rank", "name", "shape", "sparse", "text", "bits")} == {
        "bits": "halves: p: expected the bits of float16, {data: Uint16Array, shape}",
        "dtype": "pick: h: expected Float32Array (float32), found Float64Array",
        "count": "gradient: expected 1 arguments (x), found 0",
        "rank": "product: A: expected rank 2, found 1",
        "name": "gradient: there is no input y",
        "shape": f"product: A: shape [2,2] has 4 elements, data has {foreign.N}",
        "sparse": "spread: S: expected {data, indices, indptr, shape}",
        "text": "pick: h: expected Float32Array (float32)",
    }


KINDS = """
import { load } from "./kinds.mjs";
const m = await load();
const S = (data, indices) => ({
  data: new Float64Array(data), indices: new Int32Array(indices), indptr: new Int32Array([0, 1, 2]), shape: [2, 2],
});
const plain = (_, y) => (typeof y === "bigint" ? `${y}n` : ArrayBuffer.isView(y) ? [...y].join() : y);
const text = (x) => JSON.stringify(x, plain);
const failing = (call) => { try { return call(); } catch (e) { return `${e.status} ${e.message}`; } };
console.log(text([
  m.counting([1, 2, 3], 2), m.kinds([true, false, 1], [1n, 2, 3]), m.add(S([1, 2], [0, 1]), S([3, 4], [1, 0])),
  failing(() => m.add(S([1, 2], [0, 7]), S([3, 4], [1, 0]))), failing(() => m.factor([[4, 2], [2, 3]])),
  failing(() => m.square(40000)), failing(() => m.square(4e9)),
]));
"""


def test_kinds_of_values(tmp_path: Path) -> None:
    """State, truth values, 64-bit integers, sparse results; what needs LAPACK or more than 4 GiB says so."""
    node = foreign.tool("node", "nodejs")
    x, n = at.vector("x", dtype="float64"), at.scalar("n", dtype="int64")
    state = aot.shared(2.0, name="state")
    flags, i, A = at.vector("flags", dtype="bool"), at.vector("i", dtype="int64"), at.matrix("A", dtype="float64")
    C, D = (sp.csr_matrix(name, dtype="float64", shape=("n", "m")) for name in "CD")
    functions = [
        aot.function([x], {"y": x.sum() * state}, updates={state: state + 1}, name="counting"),
        aot.function([flags, i], [~flags, i * 2, at.nonzero(flags)[0], i.sum(), flags[0]], name="kinds"),
        aot.function([C, D], C + D, name="add"),
        aot.function([A], at.linalg.cholesky(A), name="factor"),
        aot.function([n], at.zeros((n, n)) + 1.0, name="square"),
    ]
    aot.compile(functions, tmp_path, name="kinds", target="wasm32-wasi", prefix="my_")
    (tmp_path / "calls.mjs").write_text(KINDS)
    counting, kinds, add, index, factor, memory, large = json.loads(foreign.run([node, "calls.mjs"], tmp_path))
    assert counting["y"] == 12 and 3 in counting.values()
    data = [value["data"] if isinstance(value, dict) else value for value in kinds]
    assert data == ["0,1,0", "2,4,6", "0,2", "6n", True]
    assert add == {"data": "1,3,4,2", "indices": "0,1,0,1", "indptr": "0,2,4", "shape": [2, 2]}
    assert index == "14 add: C: row 1 has column 7, but there are 2 columns"
    assert factor == "12 factor: LAPACK function dpotrf is needed, but aotensor_context.blas does not have it"
    assert memory == "8 there is no memory for 12800000000 bytes"
    assert "are too many: an array has at most" in large


def test_structs_of_the_header(tmp_path: Path) -> None:
    """With pointers of 32 bits every struct is laid out as a C compiler does it."""
    lines = [f'#include "{HEADER}"', "#include <stddef.h>"]
    for name, struct in STRUCTS.items():
        lines.append(f'_Static_assert(sizeof({name}) == {size_of(struct, 4)}, "size of {name}");')
        for field in struct._fields_:
            offset = offset_of(struct, field[0], 4)
            lines.append(f'_Static_assert(offsetof({name}, {field[0]}) == {offset}, "{name}.{field[0]}");')
            assert offset_of(struct, field[0], 8) == getattr(struct, field[0]).offset
    (tmp_path / "structs.c").write_text("\n".join(lines) + "\n")
    foreign.run([*foreign.ZIG, "cc", "-target", "wasm32-wasi", "-std=c11", "-c", "structs.c"], tmp_path)


def test_files(made: Made) -> None:
    """The module imports nothing, so that any page can load it, and the types name every function."""
    wasmtime = pytest.importorskip("wasmtime", reason="no wasmtime (pip install wasmtime)")
    folder = made("wasm32-wasi", "strict")
    module = wasmtime.Module.from_file(wasmtime.Engine(), str(folder / "model.wasm"))
    assert [x.name for x in module.imports] == []
    names = {x.name for x in module.exports}
    assert {"memory", "malloc", "free", "gradient", "gradient_call"} <= names
    assert not any("python" in name or "bound" in name for name in names)
    types = (folder / "model.d.mts").read_text()
    assert "  gradient(x: Float64Array | Dense<Float64Array> | Nested<number>[]): { loss: number; grad: " in types
    assert set(re.findall(r"^  (\w+)\(", types, re.MULTILINE)) == {"gradient", "halves", "pick", "product", "spread"}
    header = (folder / "model.h").read_text()
    assert "aotensor_call_python(" not in header
    assert Path(folder / "libmodel.a").read_bytes().startswith(b"!<arch>\n")
