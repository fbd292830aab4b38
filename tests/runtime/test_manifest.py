"""The manifest: what is written reads back, and nothing else does."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from entry_harness import handmade
from sparse_harness import Matrix

import aotensor
from aotensor.codegen.machine import Machine
from aotensor_runtime import abi
from aotensor_runtime import manifest as m
from aotensor_runtime.abi import Status
from aotensor_runtime.manifest import ArgumentSpec, Check, Default, FunctionSpec, Manifest, OutputSpec


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    host = Machine.host()
    functions = tuple(handmade().specs)
    return Manifest(
        "name",
        "0.1",
        abi.ABI_VERSION,
        "22.1",
        host.triple,
        host.cpu,
        host.features,
        "contract",
        functions,
        "p_",
        ("a", "b"),
    )


def test_round_trip(manifest: Manifest) -> None:
    text = manifest.to_json()
    assert Manifest.from_json(text) == manifest == Manifest.from_json(text.encode())
    assert text.isascii() and "\n" not in text


def test_checks_have_statuses_of_their_own(manifest: Manifest) -> None:
    codes = manifest.statuses()
    assert len(set(codes.values())) == len(codes) == 3 and min(codes.values()) >= Status.CHECK
    found = manifest.check(manifest.status_of("join", 1))
    assert found is not None and found[0].name == "join"
    assert manifest.check(int(Status.CHECK)) is None and manifest.check(Status.NULL_POINTER) is None
    alone = replace(manifest, functions=(manifest.function("join"),))
    assert alone.status_of("join", 1) == manifest.status_of("join", 1), "a status does not depend on its neighbours"


def test_statuses_differ_where_their_hashes_meet(manifest: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(m, "_hashed", lambda text: 1000 + int(text.rpartition("\0")[2]))
    codes = manifest.statuses()
    assert len(set(codes.values())) == len(codes) == 3


def test_names_of_what_is_not_there(manifest: Manifest) -> None:
    with pytest.raises(KeyError):
        manifest.status_of("nothing", 1)
    with pytest.raises(KeyError):
        manifest.function("nothing")


def _set(*path: Any, value: Any) -> Callable[[Any], None]:
    def change(tree: Any) -> None:
        for step in path[:-1]:
            tree = tree[step]
        tree[path[-1]] = value

    return change


F = ("functions", 1)  # affine


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (_set("extra", value=1), "manifest: missing or unknown: extra"),
        (lambda tree: tree.pop("fp"), "manifest: missing or unknown: fp"),
        (_set("schema", value=4), "manifest: schema 4 is not 3"),
        (_set("abi", value=True), "manifest.abi: expected a number"),
        (_set("abi", value=-1), "manifest.abi: -1 is out of range"),
        (_set("name", value=""), "manifest.name: expected a name"),
        (_set("name", value="a\nb"), "manifest.name: expected a name"),
        (_set("functions", value={}), "manifest.functions: expected a list"),
        (_set(*F, "name", value="not ok"), "function not ok: the name is not a C identifier"),
        (_set(*F, "name", value="scale"), "manifest: function scale appears twice"),
        (_set(*F, "dims", value=["p", "n"]), "dims"),
        (_set(*F, "inputs", 0, "shape", 0, value=-2), "manifest.functions[1].inputs[0].shape[0]: -2 is out of range"),
        (_set(*F, "inputs", 0, "shape", 0, value=None), "manifest.functions[1].inputs[0].shape[0]: expected a number"),
        (_set(*F, "inputs", 0, "dtype", value="f8"), "X has the unknown dtype 'f8'"),
        (
            _set(*F, "inputs", 0, "shape", value=[1] * 65),
            "function affine: dims ('n', 'p') are not those of the inputs",
        ),
        (_set(*F, "inputs", 1, "name", value="X"), "function affine: input X appears twice"),
        (_set(*F, "outputs", 1, "name", value="y"), "function affine: output y appears twice"),
        (_set(*F, "output_kind", value="tuple"), "manifest.functions[1].output_kind: unknown output kind"),
        (_set(*F, "output_kind", value="single"), "function affine: 2 outputs do not fit the output kind 'single'"),
        (_set(*F, "updates", value=[["w", "y"]]), "function affine: the update w = y names no such values"),
        (_set(*F, "updates", value=[["w"]]), "manifest.functions[1].updates[0]: expected two names"),
        (_set(*F, "lapack", value=["dmagic"]), "the LAPACK function dmagic is unknown"),
        (_set(*F, "calls_blas", value=1), "manifest.functions[1].calls_blas: expected true or false"),
        (_set(*F, "checks", value=[{"kind": "x"}]), "manifest.functions[1].checks[0]: missing or unknown: message"),
    ],
)
def test_refusals(manifest: Manifest, change: Callable[[Any], None], text: str) -> None:
    tree = json.loads(manifest.to_json())
    change(tree)
    with pytest.raises(m.ManifestError) as caught:
        Manifest.from_json(json.dumps(tree))
    assert text in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, '"x"', b"\xff\xfe{}"])
def test_not_a_manifest(text: str | bytes) -> None:
    with pytest.raises(m.ManifestError):
        Manifest.from_json(text)


@pytest.mark.parametrize("path", [("functions", 0, "name"), (*F, "doc"), (*F, "inputs", 0, "dtype"), ("extra",)])
def test_half_a_character(manifest: Manifest, path: Any) -> None:
    """A lone surrogate, as an escape and in UTF-8 that is none, in a value or in a key."""
    tree = json.loads(manifest.to_json())
    for value in ("a\ud800", "\udcff"):
        _set(*path, value=value)(tree)
        escaped, raw = json.dumps(tree), json.dumps(tree, ensure_ascii=False)
        for text in (escaped, escaped.encode(), raw, raw.encode("utf-8", "surrogatepass")):
            with pytest.raises(m.ManifestError, match="manifest: not JSON"):
                Manifest.from_json(text)
            assert m.read_versions(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")) == (0, 0)
    doc = _set(*F, "doc", value="a pair of halves: \U0001f600, and \\ud800 spelt out")
    doc(tree := json.loads(manifest.to_json()))
    assert Manifest.from_json(json.dumps(tree)).functions[1].doc.endswith("spelt out")


def test_size_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(m, "MAX_BYTES", 10)
    with pytest.raises(m.ManifestError, match="11 bytes are more than the limit of 10"):
        Manifest.from_json(" " * 11)


BASE = FunctionSpec(
    "f", ("n",), (ArgumentSpec("x", "float64", ("n",), Default((2,), 0, 16)),), (OutputSpec("y", "float64", ("n",)),)
)


@pytest.mark.parametrize(
    ("default", "text"),
    [
        (Default((2, 1), 0, 16), "the default of x has another rank"),
        (Default((2,), 0, 17), "the default of x has 17 bytes, not 16"),
    ],
)
def test_defaults(default: Default, text: str) -> None:
    m.validate(BASE)
    with pytest.raises(m.ManifestError, match=text):
        m.validate(replace(BASE, inputs=(replace(BASE.inputs[0], default=default),)))


def test_defaults_come_last_and_fit() -> None:
    plain = ArgumentSpec("z", "float64", ("n",))
    with pytest.raises(m.ManifestError, match="an input without a default follows one with"):
        m.validate(replace(BASE, inputs=(*BASE.inputs, plain)))
    fixed = replace(BASE.inputs[0], shape=(3,))
    with pytest.raises(m.ManifestError, match="the default of x has another shape"):
        m.validate(replace(BASE, dims=(), inputs=(fixed,)))
    other = replace(BASE, outputs=(OutputSpec("y", "float32", ("n",)),), updates=(("x", "y"),), output_kind="none")
    with pytest.raises(m.ManifestError, match="the update x = y changes the dtype"):
        m.validate(other)


def test_pool_gives_every_value_its_own_offset() -> None:
    pool = m.ValuePool()
    defaults = [pool.add((0,), b""), pool.add((1,), b"12345678"), pool.add((0,), b"")]
    assert [x.offset for x in defaults] == [0, 16, 32]
    assert pool.data[16:24] == b"12345678"


STATIC_TEXTS = {
    "x: index {found} is out of range for axis 0 of extent {expected}": "x: an index is out of range for axis 0",
    "dot: extents differ: y_0 = {found} and x_0 = {expected}": "dot: extents differ: y_0 and x_0",
    "reshape: {found} elements do not fit a shape of {expected}": "reshape: the elements do not fit a shape",
    "position {found} is out of range for an extent of {expected}": "a position is out of range for an extent",
    "the matrix is singular: pivot {found} is zero": "the matrix is singular: a pivot is zero",
    "its leading minor of order {found} is not positive": "its leading minor is not positive",
    "a sequence has {found} rows for {expected} steps": "a sequence has fewer rows than there are steps",
    "x: extents along axis 1 differ: {found} and {expected}": "x: extents along axis 1 differ",
    "x: extent {found} along axis 0 instead of {expected}": "x: another extent along axis 0 than expected",
    "x: extent {found} along axis 0 instead of 3": "x: an extent along axis 0 other than 3",
    "{found} elements or more are too many: an array has at most {expected}": "more elements than an array can have",
    "index {found} is outside of 0 … {expected} − 1": "an index is out of range",
    "hstack has {found} columns, more than int32 holds": "hstack has too many columns, more than int32 holds",
}


def test_static_text() -> None:
    """No placeholder shows, whatever the message."""
    for message, static in STATIC_TEXTS.items():
        assert Check("index", message).static_text() == static


def _templates() -> Iterator[str]:
    """Texts of our sources that hold `{found}` as it is written in a manifest, with words for what is put in."""
    for path in Path(aotensor.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        parts = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            text = ""
            if isinstance(node, ast.JoinedStr):
                text = "".join(x.value if isinstance(x, ast.Constant) else "row" for x in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts | docstrings:
                text = node.value
            if "{found}" in text and text != "{found}":
                yield text


def test_all_messages_are_sentences_without_their_numbers() -> None:
    found = {text: Check("value", text).static_text() for text in _templates()}
    assert len(found) > 30
    assert {text: static for text, static in found.items() if "..." in static or "{" in static} == {}


def _sparse(**changes: Any) -> FunctionSpec:
    """S = f(A) for a csr matrix that is shared."""
    a, s = Matrix("A", "csr", "float64", "int32", (2, "p"), 0), Matrix("S", "csr", "float64", "int32", (2, "p"), 0)
    arrays = (((2, 3), 0), ((1,), 8), ((1,), 4), ((3,), 12))
    inputs = a.inputs([Default(shape, 16 * k, size) for k, (shape, size) in enumerate(arrays)])
    spec = FunctionSpec(
        "f", ("p", "A_nnz", "A_indptr_0"), inputs, s.outputs(), "none", (("A", "S"),),
        sparse_inputs=(a.group,), sparse_outputs=(s.group,),
    )  # fmt: skip
    return replace(spec, **changes)


def test_sparse_round_trip(manifest: Manifest) -> None:
    spec = _sparse()
    m.validate(spec)
    text = replace(manifest, functions=(spec,)).to_json()
    assert Manifest.from_json(text).functions == (spec,)
    (argument,) = spec.arguments
    assert isinstance(argument, m.SparseValue)
    assert (argument.name, argument.format, argument.dtype, argument.index_dtype) == ("A", "csr", "float64", "int32")
    assert spec.typed_dims == ("p",) and spec.workspace_dims == ("p", "A_nnz") and spec.takes_context


def _input(place: int, **changes: Any) -> dict[str, Any]:
    inputs = list(_sparse().inputs)
    inputs[place] = replace(inputs[place], **changes)
    return {"inputs": tuple(inputs)}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"sparse_inputs": (m.SparseSpec("A", "coo", 0),)}, "A has the unknown format 'coo'"),
        ({"sparse_inputs": (m.SparseSpec("A", "csr", 1),)}, "A is not four arrays of its own"),
        ({"sparse_inputs": (m.SparseSpec("A", "csr", 0), m.SparseSpec("A", "csr", 0))}, "A is not four arrays"),
        ({"sparse_inputs": (m.SparseSpec("B", "csr", 0),)}, "the arrays of B have the names A, A.data"),
        (_input(0, dtype="int8"), "A has arrays of other ranks"),
        (_input(2, dtype="int64"), "A has indices of dtypes int64 and int32"),
        (
            {**_input(2, shape=("p",)), "dims": ("p", "A_nnz", "A_indptr_0")},
            "data and indices of A have different dims",
        ),
        ({"sparse_inputs": (m.SparseSpec("A", "csc", 0),)}, "the update A = S changes the dtype or format"),
    ],
)
def test_sparse_refusals(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(m.ManifestError) as caught:
        m.validate(_sparse(**changes))
    assert text in str(caught.value)
