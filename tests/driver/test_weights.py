"""Large constants in a file next to the library: its layout, the results, and the runtime that maps it."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sps

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
import aotensor_runtime as art
from aotensor.driver.artifact import Artifact
from aotensor.errors import DamagedLibrary, GraphTypeError, GraphValueError, LibraryError, LibraryNotFound, OptionError
from aotensor_runtime.container import Container
from aotensor_runtime.manifest import Manifest, ManifestError, WeightsSpec
from aotensor_runtime.weights import file as weights_file

SHAPE = (90, 70)


def model(**constants: np.ndarray) -> aot.Function:
    """tanh(x @ w) and, for each further constant c, the sum of tanh(c x₀₀) along the first axis."""
    x = at.matrix("x", shape=("n", SHAPE[0]))
    w, *rest = (at.constant(value, name=name) for name, value in constants.items())
    return aot.function(
        [x], {"y": at.tanh(x @ w), **{f"z{k}": at.tanh(c * x[0, 0]).sum(0) for k, c in enumerate(rest)}}
    )


_kept: list[dict[bytes, Any]] = []


def forget_open_files() -> None:
    """Let the next load map its file. Its memory stays mapped: a library that is still loaded may read it."""
    _kept.append(dict(weights_file._open_files))
    weights_file._open_files.clear()


@pytest.fixture(scope="module")
def constants() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    sizes = {"w": rng.normal(size=SHAPE), "odd": rng.normal(size=(2051, 1)).astype("float32")}
    return sizes | {"flags": rng.random((20_001, 1)) < 0.5, "small": rng.normal(size=(10, 3))}


@pytest.fixture(scope="module")
def artifact(constants: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    f = model(**constants, whole=np.arange(3000, dtype="int32").reshape(3000, 1))
    return aot.compile(f, tmp_path_factory.mktemp("built"), name="model", weights=True, weights_from="8K")


@pytest.fixture
def moved(artifact: Artifact, tmp_path: Path) -> Artifact:
    """A copy of the files elsewhere, whose library is another one for the process: it has not been loaded."""
    for path in artifact.files:
        shutil.copy(path, tmp_path)
    forget_open_files()
    assert artifact.weights is not None
    return replace(artifact, library=tmp_path / artifact.library.name, weights=tmp_path / artifact.weights.name)


def tensors(path: Path) -> dict[str, np.ndarray]:
    """Read safetensors by its specification."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header: dict[str, Any] = json.loads(content[8:start])
    header.pop("__metadata__")
    dtypes = {"F64": "<f8", "F32": "<f4", "BOOL": "?", "U8": "u1", "I32": "<i4", "I64": "<i8"}
    end, found = 0, {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        assert first == end, "there are no gaps"
        end = last
        raw = content[start + first : start + last]
        found[name] = np.frombuffer(raw, dtypes[entry["dtype"]]).reshape(entry["shape"])
        assert (start + first) % 64 == 0 or name.startswith("padding")
    assert start + end == len(content)
    return found


@pytest.mark.unlimited("its time is that of the library, which the other tests need, too")
def test_the_file_has_the_large_ones(artifact: Artifact, constants: dict[str, np.ndarray]) -> None:
    assert artifact.weights is not None and artifact.weights.name == "model.safetensors"
    found = {name: x for name, x in tensors(artifact.weights).items() if not name.startswith("padding")}
    wanted = [constants["w"], constants["odd"], constants["flags"], np.arange(3000, dtype="int32")]
    assert {name.removesuffix(".T") for name in found} == {"w", "odd", "flags", "whole"}
    for x in wanted:
        assert any(x.dtype == y.dtype and np.array_equal(x.ravel(), y.ravel()) for y in found.values())
    library = artifact.library.read_bytes()
    assert not any(x.tobytes()[:600] in library for x in wanted)
    assert constants["small"].tobytes() in library
    content = artifact.weights.read_bytes()
    spec = Container(library).manifest().weights
    assert spec == WeightsSpec("model.safetensors", len(content), hashlib.sha256(content).hexdigest())


@pytest.mark.needs("safetensors")
def test_its_own_package_reads_it(artifact: Artifact, constants: dict[str, np.ndarray]) -> None:
    from safetensors.numpy import load_file

    assert artifact.weights is not None
    assert any(np.array_equal(x, constants["w"]) for x in load_file(artifact.weights).values())


def test_results_have_the_same_bits(
    artifact: Artifact, constants: dict[str, np.ndarray], tmp_path: Path, rng: np.random.Generator
) -> None:
    f = model(**constants, whole=np.arange(3000, dtype="int32").reshape(3000, 1))
    whole, parted = aot.compile(f, tmp_path, name="model").load(), artifact.load()
    assert whole.weights is None and parted.weights is not None and not parted.weights.flags.writeable
    for n in (0, 1, 33):
        x = rng.normal(size=(n or 1, SHAPE[0]))[: n or 1]
        one, other = whole[f.name](x), parted[f.name](x)
        assert {k: v.tobytes() for k, v in one.items()} == {k: v.tobytes() for k, v in other.items()}
        np.testing.assert_allclose(one["y"], np.tanh(x @ constants["w"]), rtol=1e-12)


def test_two_compilations_give_the_same_bytes(artifact: Artifact, constants: dict[str, Any], tmp_path: Path) -> None:
    f = model(**constants, whole=np.arange(3000, dtype="int32").reshape(3000, 1))
    again = aot.compile(f, tmp_path, name="model", weights=True, weights_from=8192)
    assert [x.read_bytes() for x in again.files] == [x.read_bytes() for x in artifact.files]


def test_patterns_are_weights_too(tmp_path: Path, rng: np.random.Generator) -> None:
    matrix = sps.random(5000, 300, 0.01, "csr", rng=rng)
    x = at.vector("x", shape=(300,))
    f = aot.function([x], sp.as_sparse(matrix, name="links") @ x)
    made = aot.compile(f, tmp_path, name="sparse", weights=True)
    assert made.weights is not None
    found = tensors(made.weights)
    for part in ("data", "indices", "indptr"):
        assert np.array_equal(found[f"links.{part}"], getattr(matrix, part))
    values = rng.normal(size=300)
    np.testing.assert_allclose(made.load()[f.name](values), matrix @ values, rtol=1e-12)


def test_levels_share_the_file(constants: dict[str, np.ndarray], tmp_path: Path, rng: np.random.Generator) -> None:
    f = model(w=constants["w"])
    made = aot.compile(f, tmp_path, name="levels", weights="w.bin", cpu="v2,v3", opt_level=1)
    assert made.weights == tmp_path / "w.bin"
    assert made.weights.stat().st_size < 1.1 * constants["w"].nbytes
    x = rng.normal(size=(3, SHAPE[0]))
    np.testing.assert_allclose(made.load()[f.name](x)["y"], np.tanh(x @ constants["w"]), rtol=1e-12)


def test_without_large_constants_there_is_no_file(constants: dict[str, np.ndarray], tmp_path: Path) -> None:
    made = aot.compile(model(w=constants["w"]), tmp_path, weights=True, weights_from="1M")
    assert made.weights is None and made.load().manifest.weights is None
    assert not list(tmp_path.glob("*.safetensors"))
    with pytest.raises(LibraryError, match="the library has no file of weights"):
        art.load(made.library, weights=made.library)


@pytest.mark.parametrize("options, kind, said", [
    ({"weights": "sub/w.bin"}, GraphValueError, "a file next to the library, not 'sub/w.bin'"),
    ({"weights": 3}, GraphTypeError, "weights must be a bool or a str, not 3"),
    ({"weights_from": "1M"}, GraphValueError, "weights_from needs a file of weights"),
    ({"weights": True, "weights_from": "much"}, GraphValueError, "weights_from must be a number of bytes, such as 64M"),
    ({"weights": True, "emit": "c"}, OptionError, "C source holds its constants itself"),
    ({"weights": True, "malloc": False}, OptionError, "cannot have a file of weights"),
    ({"weights": True, "target": "wasm32-wasi"}, OptionError, "needs addresses of 64 bits"),
    ({"weights": "f.h", "name": "f"}, OptionError, "cannot be called f.h"),
])  # fmt: skip
def test_what_is_not_combined(
    options: dict[str, Any], kind: type[Exception], said: str, constants: dict[str, np.ndarray], tmp_path: Path
) -> None:
    with pytest.raises(kind, match=said):
        aot.compile(model(w=constants["w"]), tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_the_runtime_names_the_file(moved: Artifact, tmp_path: Path) -> None:
    assert moved.weights is not None
    content, other = moved.weights.read_bytes(), tmp_path / "other.bin"
    expected = f"expected: {len(content)} bytes with SHA-256 {hashlib.sha256(content).hexdigest()}"
    for change, kind, said in (
        (content[:-1], DamagedLibrary, f"the file has {len(content) - 1} bytes"),
        (content[:-9] + b"damaged!!", DamagedLibrary, "do not belong to the library"),
        (b"", DamagedLibrary, "the file has 0 bytes"),
        (None, LibraryNotFound, "were not found"),
    ):
        moved.weights.unlink(missing_ok=True)
        if change is not None:
            moved.weights.write_bytes(change)
        with pytest.raises(kind) as error:
            art.load(moved.library)
        assert said in str(error.value) and str(moved.weights) in str(error.value) and expected in str(error.value)
    with pytest.raises(LibraryNotFound, match="nowhere"):
        art.load(moved.library, weights=tmp_path / "nowhere")
    other.write_bytes(content)
    assert art.load(moved.library, weights=other).weights is not None


def test_libraries_pickle_with_their_weights(moved: Artifact, rng: np.random.Generator) -> None:
    assert moved.weights is not None
    library = moved.load()
    (f,) = library
    x, buffers = rng.normal(size=(2, SHAPE[0])), []
    data = pickle.dumps(library, protocol=5, buffer_callback=buffers.append)
    assert len(data) < 200_000 and sum(x.raw().nbytes for x in buffers) == moved.weights.stat().st_size
    program = (
        "import pickle, sys, numpy as np\n"
        "library = pickle.load(open(sys.argv[1], 'rb'))\n"
        "x = np.load(sys.argv[2])\n"
        f"np.save(sys.argv[2], library[{f!r}](x)['y'])\n"
    )
    pickled, array = moved.weights.with_name("pickled"), moved.weights.with_name("x.npy")
    pickled.write_bytes(pickle.dumps(library))
    moved.weights.unlink()
    np.save(array, x)
    subprocess.run([sys.executable, "-c", program, str(pickled), str(array)], check=True)
    assert np.load(array).tobytes() == library[f](x)["y"].tobytes()
    forget_open_files()
    broken = bytearray(pickle.dumps(library))
    broken[broken.rindex(library.weights.tobytes()[-64:])] ^= 1  # type: ignore[union-attr]
    with pytest.raises(DamagedLibrary, match="the pickled weights do not belong to the library"):
        pickle.loads(bytes(broken))


@pytest.mark.parametrize("change", [
    {"file": "../w.bin"}, {"file": "/w.bin"}, {"file": ""}, {"bytes": 0}, {"bytes": 1 << 60}, {"bytes": "9"},
    {"sha256": "12"}, {"sha256": "G" * 64}, {"more": 1},
])  # fmt: skip
def test_records_are_checked(change: dict[str, object], artifact: Artifact) -> None:
    tree = json.loads(Container(artifact.library.read_bytes()).manifest().to_json())
    tree["weights"] |= change
    with pytest.raises(ManifestError, match="weights"):
        Manifest.from_json(json.dumps(tree))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_processes_share_the_memory(tmp_path: Path, rng: np.random.Generator) -> None:
    """Each of two processes at once has few pages of its own, and the pages of the file are those of the other."""
    weights = rng.normal(size=(1000, 1000))
    x = at.vector("x", shape=(1000,))
    made = aot.compile(aot.function([x], x @ weights, name="layer"), tmp_path, weights=True, opt_level=1)
    program = (
        "import sys, numpy as np, aotensor_runtime as art\n"
        "def own(name):\n"
        "    return sum(int(x.split()[1]) for x in open('/proc/self/smaps_rollup') if x.startswith(name)) << 10\n"
        "before = own('Private_Dirty:')\n"
        "library = art.load(sys.argv[1])\n"
        "y = library.layer(np.ones(1000))\n"
        "print(own('Private_Dirty:') - before, float(y[7]).hex(), flush=True)\n"
        "sys.stdin.read()\n"
        "print(own('Shared_Clean:'))\n"
    )
    command = [sys.executable, "-c", program, str(made.library)]
    kinds = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **kinds) as one, subprocess.Popen(command, **kinds) as other:  # type: ignore[call-overload]
        for process in (one, other):
            grown, result = process.stdout.readline().split()
            assert int(grown) < weights.nbytes / 2, "it has no copy"
            np.testing.assert_allclose(float.fromhex(result), weights.sum(0)[7], rtol=1e-10)
        shared, _ = one.communicate("")
        assert int(shared) > weights.nbytes
        other.communicate("")
