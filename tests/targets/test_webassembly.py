"""Libraries for WebAssembly: C programs in wasmtime, and the JavaScript module in Node."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import foreign
import pytest
from foreign import Made

from aotensor_runtime import Library

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
const lines = {{
  loss: bits(Float64Array.of(found.loss)), grad: bits(found.grad.data), product: bits(product.data),
  picked: bits(picked.data), spread: bits(m.spread(S, v).data), version: m.manifest.abi,
}};
const failures = {{
  message: () => m.product(given.a, given.a),
  dtype: () => m.pick(x, 1), count: () => m.gradient(), rank: () => m.product(x, x),
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
    given = {"x": arguments["gradient"][0], "v": v, "a": a, "b": b, "indices": S.indices, "indptr": S.indptr}
    text = CALLS.format(
        given=json.dumps({name: x.tolist() for name, x in given.items()}), n=foreign.N, first=foreign.FIRST,
        rows=foreign.ROWS, inner=foreign.INNER, columns=foreign.COLUMNS,
    )  # fmt: skip
    (folder / "calls.mjs").write_text(text)
    output = foreign.run([node, "calls.mjs"], folder)
    foreign.compare(output, here("strict"), is_strict=True)
    found = foreign.read(output)
    assert found["again"] == found["kept"] == "true"
    assert {name: found[name] for name in ("dtype", "count", "rank", "name", "shape", "sparse", "text")} == {
        "dtype": "pick: h: expected Float32Array (float32), found Float64Array",
        "count": "gradient: expected 1 arguments (x), found 0",
        "rank": "product: A: expected rank 2, found 1",
        "name": "gradient: there is no input y",
        "shape": f"product: A: shape [2,2] has 4 elements, data has {foreign.N}",
        "sparse": "spread: S: expected {data, indices, indptr, shape}",
        "text": "pick: h: expected Float32Array (float32)",
    }


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
    assert set(re.findall(r"^  (\w+)\(", types, re.MULTILINE)) == {"gradient", "product", "pick", "spread"}
    header = (folder / "model.h").read_text()
    assert "aotensor_call_python(" not in header
    assert Path(folder / "libmodel.a").read_bytes().startswith(b"!<arch>\n")
