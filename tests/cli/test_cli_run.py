"""`aotensor run`: every kind of input, outputs that can be read back, and what --expect finds."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from command_line import Call

from aotensor_cli.options import Refusal
from aotensor_cli.reading.arrays import file_content, read_value
from aotensor_runtime import load


def test_prints_outputs(call: Call, library: Path, data: Path) -> None:
    answer = call("run", f"{library}:logistic_grad", f"X={data}/X.npy", f"y={data}/data.npz", f"w={data}/data.npz")
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    with np.load(data / "data.npz") as archive:
        found = load(library).logistic_grad(np.load(data / "X.npy"), archive["y"], archive["w"])
    assert lines[0] == f"loss = {float(found['loss'])!r}"
    assert lines[1] == "grad_w = float64[3]"


def test_literals_and_json(call: Call, library: Path) -> None:
    answer = call("run", f"{library}:doubled", "w=[1, 2.5, NaN]", "--json")
    assert answer.code == 0
    assert str(json.loads(answer.out)["out"]) == "[2.0, 5.0, nan]"


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".json", ".csv"])
def test_reads_back_what_it_writes(call: Call, library: Path, tmp_path: Path, suffix: str) -> None:
    """Doubling twice by way of a file; and the file is what --expect expects."""
    out = tmp_path / f"out{suffix}"
    assert call("run", f"{library}:doubled", "w=[0.1, -3, 1e300]", "-o", out).out == f"{out}\n"
    source = f"{out}:out" if suffix == ".npz" else out
    again = call("run", f"{library}:doubled", f"w={source}", "--json")
    assert json.loads(again.out)["out"] == [0.4, -12.0, 4e300]
    assert call("run", f"{library}:doubled", "w=[0.1, -3, 1e300]", "--expect", out).code == 0
    differs = call("run", f"{library}:doubled", "w=[0.1, -3, 1e299]", "--expect", out)
    assert differs.code == 1
    assert "out: 2e+299 instead of 2e+300 at [2], 1 of 3 elements" in differs.err


@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_several_outputs(call: Call, library: Path, data: Path, suffix: str) -> None:
    inputs = (f"X={data}/X.npy", f"y={data}/data.npz", "w=[1, 2, 3]")
    out = data / f"out{suffix}"
    assert call("run", f"{library}:logistic_grad", *inputs, "-o", out).code == 0
    answer = call("run", f"{library}:logistic_grad", *inputs, "--expect", out)
    assert answer.code == 0
    assert answer.err == "loss: as expected\ngrad_w: as expected\n"
    assert call("run", f"{library}:logistic_grad", *inputs, "-o", data / "out.npy").code == 2
    other = call("run", f"{library}:logistic_grad", *inputs[:2], "w=[1, 2, 4]", "--expect", out)
    assert other.code == 1


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        (("X=1",), "{}: the library has several functions"),
        ((":soup",), "{}: there is no function soup"),
        ((":doubled",), "doubled: missing w"),
        ((":doubled", "soup"), "'soup' is not understood"),
        ((":doubled", "v=3"), "doubled has no input v"),
        ((":doubled", "w=1", "w=2"), "input w is given twice"),
        ((":doubled", "w=1"), "doubled: w has rank 0, expected 1"),
        ((":doubled", "w=soup"), "w=soup: this is neither a literal nor a file"),
        ((":doubled", "w=none.npy"), "none.npy: there is no such file"),
        ((":logistic", "X=[[1]]", "y=[1, 2]", "w=[1]"), "logistic: dim n of y is 2, but X has n = 1"),
        ((":doubled", "w=[1]", "-o", "out.xls"), "out.xls: files of this kind cannot be written"),
    ],
)
def test_wrong_inputs(call: Call, library: Path, arguments: tuple[str, ...], title: str) -> None:
    subject = f"{library}{arguments[0]}" if arguments[0].startswith(":") else str(library)
    answer = call("run", subject, *(x for x in arguments if not x.startswith(":")))
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"error: {title.format(library)}")


def test_model_is_refused_with_the_way_out(call: Call, model: Path) -> None:
    answer = call("run", model)
    assert answer.code == 2
    assert answer.err.splitlines()[1] == f"hint: compile it first: aotensor compile {model}"


def test_csv_with_and_without_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,4.5\n")
    (tmp_path / "b.csv").write_text("1\n2\n")
    np.testing.assert_array_equal(read_value(f"{tmp_path}/a.csv", "x", "float32", 2), [[1, 2], [3, 4.5]])
    np.testing.assert_array_equal(read_value(f"{tmp_path}/b.csv", "x", "int64", 1), [1, 2])
    assert read_value(f"{tmp_path}/b.csv", "x", "int64", 2).shape == (2, 1)
    with pytest.raises(Refusal, match=r"x: an array of float64 does not fit int64"):
        read_value(f"{tmp_path}/a.csv", "x", "int64", 2)


def test_matrix_market(tmp_path: Path) -> None:
    path = tmp_path / "m.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 1.5\n2 3 -2\n")
    np.testing.assert_array_equal(read_value(str(path), "x", "float64", 2), [[1.5, 0, 0], [0, 0, -2]])


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_matrix_market_of_every_kind(tmp_path: Path, symmetry: str, dtype: str) -> None:
    path, lower = tmp_path / "m.mtx", np.tril(np.arange(9.0).reshape(3, 3), -1)
    sign = {"general": 0, "symmetric": 1, "skew-symmetric": -1}[symmetry]
    matrix = (lower + sign * lower.T).astype(dtype)
    for x in (matrix, scipy.sparse.csr_matrix(matrix)):
        scipy.io.mmwrite(path, x, symmetry=symmetry, comment="by SciPy")
        found = read_value(str(path), "x", dtype, 2)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, matrix)
    path.write_text(f"%%MatrixMarket matrix coordinate pattern {symmetry}\n\n2 2 1\n2 1\n")
    np.testing.assert_array_equal(read_value(str(path), "x", dtype, 2), [[0, sign], [1, 0]])


def _with_a_broken_stream() -> bytes:
    """An .npz whose compressed data cannot be expanded."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, x=np.arange(12.0))
    data = bytearray(buffer.getvalue())
    start = 30 + int.from_bytes(data[26:28], "little") + int.from_bytes(data[28:30], "little")
    data[start : start + 8] = b"\xff" * 8
    return bytes(data)


def _archive(name: str, content: bytes) -> bytes:
    """A zip file of one member."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.npy", b"soup"),
        ("a.npz", b"soup"),
        ("a.json", b"{"),
        ("a.json", b'{"x": "text"}'),
        ("a.csv", b"1,2\n3\n"),
        ("a.mtx", b"soup"),
        ("a.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\xff\x7f\0\0\0005\n"),  # SciPy crashes
        ("a.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1.5\n"),
        ("a.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 1\n0 1 1.5\n"),
        ("a.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.5\n"),
        ("a.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1\n"),
        ("a.mtx", b"%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 1\n"),
        ("a.mtx", b"%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 1 1\n"),
        ("a.mtx", b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n"),
        ("a.mtx", b"%%MatrixMarket matrix array real general\n"),
        ("a.npy", b""),
        ("a.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4" + b" " * 60 + b"\n"),
        ("a.npz", _with_a_broken_stream()),
        ("a.npz", _archive("x.npy", b"no header of NumPy")),
        ("a.npy", _archive("x.npy", b"no header of NumPy")),
    ],
)
def test_files_that_cannot_be_understood(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(Refusal, match="cannot be understood"):
        read_value(str(tmp_path / name), "x", "float64", 1)


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(Refusal, match="cannot be understood"):
        read_value(str(tmp_path / "a.npy"), "x", "float64", 1)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "float64"])
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".json", ".csv"])
def test_round_trip_of_every_dtype(tmp_path: Path, dtype: str, suffix: str) -> None:
    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    if array.dtype.kind == "f":
        array = array / 3
    if dtype == "uint64":
        array[0, 0] = 2**64 - 1
    path = tmp_path / f"x{suffix}"
    path.write_bytes(file_content(path, {"x": array}))
    found = read_value(str(path), "x", dtype, 2)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)
