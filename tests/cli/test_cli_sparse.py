"""`aotensor run`, `inspect` and `verify` on a library with sparse matrices."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as ss
from command_line import Call

from aotensor_cli.reading import matrices

MODEL = """
import aotensor as aot
import aotensor.sparse as sp

A = sp.csr_matrix("A", dtype="float32", shape=("n", "p"))
data, indices, indptr, shape = sp.CSMProperties()(A)
halved = aot.function([A], {"S": sp.CSR(data * 0.5, indices, indptr, shape), "total": data.sum()}, name="halved")
same = aot.function([A], A, name="same")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, spawn: Call) -> Path:
    folder = tmp_path_factory.mktemp("sparse")
    (folder / "model.py").write_text(MODEL)
    answer = spawn("compile", folder / "model.py", "-o", folder, "--name", "m")
    assert answer.code == 0, answer.err
    matrix = ss.csr_matrix(np.array([[0, 1, 0], [2, 0, -3]], "f4"))
    ss.save_npz(folder / "A.npz", matrix)
    ss.save_npz(folder / "A_csc.npz", matrix.tocsc())
    scipy.io.mmwrite(folder / "A.mtx", matrix)
    np.save(folder / "dense.npy", matrix.toarray())
    return folder


@pytest.mark.parametrize("file", ["A.npz", "A_csc.npz", "A.mtx"])
def test_reads_matrices_and_prints_entries(call: Call, built: Path, file: str) -> None:
    answer = call("run", f"{built}/libm.so:halved", f"A={built}/{file}")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines() == [
        "S = csr float32[2, 3], 3 stored", "  (0, 1)  0.5", "  (1, 0)  1.0", "  (1, 2)  -1.5", "total = 0.0",
    ]  # fmt: skip


@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_several_outputs_come_back(call: Call, built: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"out{suffix}"
    inputs = (f"{built}/libm.so:halved", f"A={built}/A.npz")
    assert call("run", *inputs, "-o", out).code == 0
    assert call("run", *inputs, "--expect", out).err == "S: as expected\ntotal: as expected\n"
    source = f"{out}:S" if suffix == ".npz" else str(_only(out, "S", tmp_path))
    again = call("run", f"{built}/libm.so:same", f"A={source}", "--json")
    assert json.loads(again.out)["out"]["data"] == [0.5, 1.0, -1.5]


def _only(path: Path, key: str, folder: Path) -> Path:
    """One value of a JSON file in a file of its own."""
    found = folder / "one.json"
    found.write_text(json.dumps({key: json.loads(path.read_text())[key]}))
    return found


@pytest.mark.parametrize("suffix", [".npz", ".mtx"])
def test_a_single_matrix_is_written_as_scipy_does(call: Call, built: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"out{suffix}"
    inputs = (f"{built}/libm.so:same", f"A={built}/A.npz")
    assert call("run", *inputs, "-o", out).code == 0
    read = ss.load_npz(out) if suffix == ".npz" else scipy.io.mmread(out)
    assert read.toarray().tolist() == [[0, 1, 0], [2, 0, -3]]
    assert call("run", *inputs, "--expect", out).code == 0
    other = ss.csr_matrix(np.array([[0, 1, 5], [2, 0, 0]], "f4"))
    ss.save_npz(tmp_path / "other.npz", other)
    answer = call("run", *inputs, "--expect", tmp_path / "other.npz")
    assert answer.code == 1 and "2 of 4 elements" in answer.err
    ss.save_npz(tmp_path / "wide.npz", ss.csr_matrix((2, 4)))
    answer = call("run", *inputs, "--expect", tmp_path / "wide.npz")
    assert answer.code == 1 and "[2, 3] instead of [2, 4]" in answer.err
    answer = call("run", *inputs, "--expect", built / "dense.npy")
    assert answer.code == 1 and "a sparse matrix instead of an array" in answer.err


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("dense.npy", "not a sparse matrix"),
        ("missing.npz", "there is no such file"),
        ("bad.npz", "cannot be understood"),
        ("bad.json", "cannot be understood"),
    ],
)
def test_refusals(call: Call, built: Path, value: str, text: str) -> None:
    np.savez(built / "bad.npz", format="csr", shape=(2, 3), data=[1.0], indices=[0, 1], indptr=[0, 1])
    tree = {"format": "csr", "shape": [2, 3], "data": [1.0], "indices": [0.5], "indptr": [0, 1, 1]}
    (built / "bad.json").write_text(json.dumps({"A": tree}))
    answer = call("run", f"{built}/libm.so:same", f"A={built}/{value}")
    assert answer.code == 2 and text in answer.err


def test_outputs_that_do_not_fit_a_file(call: Call, built: Path, tmp_path: Path) -> None:
    for suffix, text in ((".csv", "a sparse matrix does not fit a .csv file"), (".mtx", "2 outputs do not fit one")):
        name = "same" if suffix == ".csv" else "halved"
        answer = call("run", f"{built}/libm.so:{name}", f"A={built}/A.npz", "-o", tmp_path / f"out{suffix}")
        assert answer.code == 2 and text in answer.err


def test_wrong_indices_are_an_error_of_the_call(call: Call, built: Path) -> None:
    matrix = ss.csr_matrix(np.eye(2, 3, dtype="f4"))
    matrix.indices[1] = 7
    np.savez(
        built / "out_of_range.npz", format="csr", shape=(2, 3), data=matrix.data, indices=matrix.indices,
        indptr=matrix.indptr,
    )  # fmt: skip
    answer = call("run", f"{built}/libm.so:same", f"A={built}/out_of_range.npz")
    assert answer.code != 0 and "same: A: row 1 has column 7, but there are 3 columns" in answer.err


def test_inspect_and_verify(call: Call, built: Path) -> None:
    answer = call("inspect", built / "libm.so")
    assert "halved(A: csr float32[n, p]) -> S: csr float32[" in answer.out
    assert "same(A: csr float32[n, p]) -> out: csr float32[n, p]" in answer.out
    assert "n, p, A_nnz" in answer.out
    tree = json.loads(call("inspect", built / "libm.so", "--format", "json").out)
    assert tree["functions"][0]["sparse_inputs"] == [{"name": "A", "format": "csr", "first": 0, "pattern": None}]
    answer = call("verify", built / "libm.so")
    assert answer.code == 0 and "4 calls give the recorded values" in answer.out


def test_blocks_in_files(tmp_path: Path) -> None:
    """A bsr matrix from an .npz alone and among others, and from JSON."""
    A = ss.bsr_matrix(np.arange(12.0).reshape(4, 3), blocksize=(2, 3))
    ss.save_npz(tmp_path / "A.npz", A)
    with np.load(tmp_path / "A.npz") as arrays:
        alone = matrices.values_of_archive(tmp_path / "A.npz", dict(arrays))[None]
    among = matrices.values_of_archive(tmp_path, matrices.members("A", A))["A"]
    tree = matrices.from_tree(json.loads(json.dumps(matrices.tree_of(A))))
    for found in (alone, among, tree):
        assert (found.format, found.blocksize) == ("bsr", (2, 3))
        assert found.toarray().tolist() == A.toarray().tolist()
    with pytest.raises(ValueError, match="blocks"):
        matrices.from_tree({**matrices.tree_of(A), "data": [1.0]})
