"""Wheels: installed where nothing else is, called, typed; what pip and auditwheel read in them."""

from __future__ import annotations

import base64
import hashlib
import json
import platform
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from llvmlite.binding import llvm_version_info
from packaged import CleanPython, run, succeed

from aotensor.codegen.targets.linkage import read_linkage
from aotensor_cli.packaging.tags import Platform, platform_of, wheel_tag
from aotensor_runtime.elf import ElfFile
from aotensor_runtime.errors import ForeignLibrary, LibraryError

CALLS = """
import sys, inspect, numpy as np, model
rng = np.random.default_rng(0)
X, y, w = rng.normal(size=(5, 3)), rng.normal(size=5), rng.normal(size=3)
found = model.squares(X, y, w)
np.testing.assert_allclose(found["loss"], ((X @ w - y) ** 2).sum())
np.testing.assert_allclose(found["grad_w"], 2 * X.T @ (X @ w - y))
assert model.squares(X=X, y=y, w=w)["loss"] == found["loss"]
gradient = np.empty(3)
assert model.squares(X, y, w, out={"grad_w": gradient}, num_threads=2)["grad_w"] is gradient
np.testing.assert_array_equal(gradient, found["grad_w"])
assert model.pick([1, 2, 3], 1) == 2
double, total, signs = model.several([-1.0, 1.0])
assert double.tolist() == [-2, 2] and signs.tolist() == [False, True]
try:
    model.pick([1.0], 5)
except IndexError as error:
    assert "y[i]" in str(error) or "index" in str(error)
else:
    raise AssertionError
assert model.__version__ == "1.2" and list(model.libraries) == ["model"]
assert model.libraries["model"].squares.bind(X=X, y=y, w=w)()["loss"] == found["loss"]
assert str(inspect.signature(model.pick)) == (
    "(y: '_ArrayLike', i: '_ArrayLike', *, out: '_Any' = None, num_threads: 'int | None' = None)"
    " -> '_NDArray[_np.float64]'"
)
assert "grad_w: float64[p]" in model.squares.__doc__ and "squares(X: float64[n, p]" in model.__doc__
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"aotensor", "scipy", "llvmlite", "xdsl"}))
"""

RIGHT = """
import numpy as np
import model
loss = float(model.squares(np.ones((2, 2)), [1.0, 2.0], np.ones(2))["loss"])
picked = model.pick([1.0, 2.0], 1, num_threads=1)
reveal_type(picked)
reveal_type(model.several([1.0]))
"""
WRONG = {
    'model.squares([[1.0]], [1.0])["loss"]': "Missing positional argument",
    'model.squares([[1.0]], [1.0], [1.0])["los"]': 'has no key "los"',
    'model.pick([1.0], 0, num_threads="2")': 'Argument "num_threads" to "pick" has incompatible type',
    "model.missing": 'has no attribute "missing"',
}


def wheel(folder: Path, start: str) -> Path:
    (found,) = folder.glob(f"{start}-*.whl")
    return found


def test_it_is_called_where_numpy_is_all(clean: CleanPython, tmp_path: Path) -> None:
    assert clean(CALLS, cwd=tmp_path).split() == []


def test_several_libraries_and_names_that_need_care(packed: Path, tmp_path: Path) -> None:
    python = CleanPython(tmp_path / "venv", others=["scipy"])
    python.install("pair==2.0rc1", links=packed)
    python("""
import numpy as np, scipy.sparse, pair
assert pair.std(2.0, lambda_=3) == {"a_b": 4, "class_": 4}
assert pair.libraries_([1, 2, 3], 1.0).tolist() == [2, 3, 4]
assert pair.product(scipy.sparse.csr_matrix(np.eye(2)), np.ones(2)).tolist() == [1, 1]
assert [pair.counting(0.0) for _ in range(3)] == [0, 1, 2]
assert pair.doubling() == [] and pair.libraries["other.one"].doubling.state["state"] == 2
assert pair.result([1.0, 2.0])["result"].tolist() == [2, 4] and pair.result([1.0, 2.0])["workspace_"] == 3
where, inverted, sums = pair.odd([True, False], np.ones((2, 3)))
assert where.tolist() == [0] and inverted.tolist() == [False, True] and sums.tolist() == [2, 2, 2]
assert list(pair.libraries) == ["model", "other.one"] and pair.pick([4.0], 0) == 4
assert {"a_b", "class_"} == set(pair.StdResult.__annotations__) and pair.SquaresResult
""")


def test_types(clean: CleanPython, tmp_path: Path) -> None:
    mypy = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--cache-dir",
        tmp_path / "cache",
        "--python-executable",
        clean.python,
    ]
    (tmp_path / "right.py").write_text(RIGHT)
    text = succeed(*mypy, "right.py", cwd=tmp_path)
    assert "numpy.ndarray[tuple[Any, ...], numpy.dtype[numpy.float64]]" in text
    assert "list[" in text and "numpy.dtype[numpy.bool" in text
    (tmp_path / "wrong.py").write_text("import model\n" + "\n".join(WRONG) + "\n")
    answer = run(*mypy, "wrong.py", cwd=tmp_path)
    lines = [line for line in answer.out.splitlines() if ": error:" in line]
    assert answer.code == 1 and len(lines) == len(WRONG), answer.out
    for number, (line, message) in enumerate(zip(lines, WRONG.values(), strict=True), 2):
        assert line.startswith(f"wrong.py:{number}:") and message in line


def test_the_module_itself_is_typed(packed: Path, tmp_path: Path) -> None:
    for name in ("model", "pair"):
        zipfile.ZipFile(wheel(packed, name)).extractall(tmp_path)
        command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), name]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_what_is_inside(packed: Path) -> None:
    with zipfile.ZipFile(wheel(packed, "model")) as archive:
        names, info = archive.namelist(), "model-1.2.dist-info"
        assert names == [
            "model/__init__.py", "model/libmodel.so", "model/py.typed", f"{info}/METADATA", f"{info}/WHEEL",
            f"{info}/licenses/LICENSE", f"{info}/sboms/aotensor.cdx.json", f"{info}/sboms/aotensor.provenance.json",
            f"{info}/RECORD",
        ]  # fmt: skip
        lines = archive.read(f"{info}/METADATA").decode().splitlines()
        assert [line for line in lines if line.startswith("Requires-Dist")] == [
            "Requires-Dist: numpy>=2.1",
            f"Requires-Dist: aotensor-runtime>={version('aotensor')},<2",
        ]
        assert "Generated code is yours." in lines
        for line in archive.read(f"{info}/RECORD").decode().splitlines()[:-1]:
            path, digest, size = line.split(",")
            content = archive.read(path)
            found = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={found}", str(len(content)))
    with zipfile.ZipFile(wheel(packed, "pair")) as archive:
        assert b"Requires-Dist: scipy>=" in archive.read("pair-2.0rc1.dist-info/METADATA")


def test_bills_name_the_libraries_and_how_they_were_compiled(packed: Path) -> None:
    """The digests are those of the files in the wheel; the tools those that made them."""
    with zipfile.ZipFile(wheel(packed, "model")) as archive:
        bill = json.loads(archive.read("model-1.2.dist-info/sboms/aotensor.cdx.json"))
        statement = json.loads(archive.read("model-1.2.dist-info/sboms/aotensor.provenance.json"))
        digest = hashlib.sha256(archive.read("model/libmodel.so")).hexdigest()
    (library,) = bill["components"]
    assert library["name"] == "libmodel.so" and library["hashes"] == [{"alg": "SHA-256", "content": digest}]
    assert bill["dependencies"] == [{"ref": "pkg:pypi/model@1.2", "dependsOn": [library["bom-ref"]]}]
    assert statement["subject"] == [{"name": "libmodel.so", "digest": {"sha256": digest}}]
    made = statement["predicate"]["buildDefinition"]
    tools = {tool["name"]: tool["annotations"]["version"] for tool in made["resolvedDependencies"]}
    assert tools == {"aotensor": version("aotensor"), "llvm": ".".join(map(str, llvm_version_info))}
    given = made["externalParameters"]["libmodel.so"]
    assert given["fp"] == "contract" and given["target"].startswith(platform.machine())
    assert {p["name"]: p["value"] for p in library["properties"]} == {f"aotensor:{key}": x for key, x in given.items()}


def test_the_bill_follows_the_schema_of_cyclonedx(packed: Path) -> None:
    reason = "no validator: pip install 'cyclonedx-python-lib[json-validation]'"
    validation = pytest.importorskip("cyclonedx.validation.json", reason=reason)
    schema = pytest.importorskip("cyclonedx.schema", reason=reason)
    pytest.importorskip("jsonschema", reason=reason)
    for name in ("model", "pair"):
        with zipfile.ZipFile(wheel(packed, name)) as archive:
            (path,) = [path for path in archive.namelist() if path.endswith(".cdx.json")]
            text = archive.read(path).decode()
        assert validation.JsonStrictValidator(schema.SchemaVersion.V1_6).validate_str(text) is None


def test_the_tag_is_that_of_auditwheel(packed: Path) -> None:
    pytest.importorskip("auditwheel", reason="auditwheel is not installed")
    for name in ("model", "pair"):
        path = wheel(packed, name)
        text = " ".join(succeed(sys.executable, "-m", "auditwheel", "show", path).split())
        assert f'consistent with the following platform tag: "{path.stem.rpartition("-")[2]}"' in text


def test_versions_of_symbols(libraries: Path) -> None:
    """Those that the library itself names; malloc alone needs some."""
    versions = read_linkage(ElfFile((libraries / "libmodel.so").read_bytes())).versions
    assert versions and all(version.startswith("GLIBC_2.") for version in versions)


@pytest.mark.parametrize(
    ("machine", "libc", "versions", "tag"),
    [
        ("x86_64", "glibc", [], "manylinux_2_5_x86_64"),
        ("x86_64", "glibc", ["GLIBC_2.2.5"], "manylinux_2_5_x86_64"),
        ("x86_64", "glibc", ["GLIBC_2.2.5", "GLIBC_2.14", "GLIBC_2.3.4"], "manylinux_2_17_x86_64"),
        ("x86_64", "glibc", ["GLIBC_2.34", "GLIBC_2.4"], "manylinux_2_34_x86_64"),
        ("x86_64", "glibc", ["GLIBC_2.38"], "manylinux_2_38_x86_64"),
        ("x86_64", "glibc", ["GLIBC_2.4", "GLIBC_ABI_DT_RELR"], "manylinux_2_36_x86_64"),
        ("aarch64", "glibc", ["GLIBC_2.17"], "manylinux_2_17_aarch64"),
        ("riscv64", "glibc", ["GLIBC_2.27"], "manylinux_2_31_riscv64"),
        ("aarch64", "musl", [], "musllinux_1_2_aarch64"),
    ],
)
def test_tags(machine: str, libc: str, versions: list[str], tag: str) -> None:
    assert wheel_tag(Platform(machine, libc), versions) == tag


@pytest.mark.parametrize(
    ("target", "needed", "libc"),
    [
        ("x86_64-unknown-linux-gnu", ["libm.so.6", "libc.so.6"], "glibc"),
        ("x86_64-unknown-linux-gnu", [], "glibc"),
        ("x86_64-unknown-linux-musl", ["libc.so"], "musl"),
        ("x86_64-unknown-linux-musl", [], "musl"),
        ("x86_64-unknown-linux-musl", ["libc.so.6"], "glibc"),
        ("x86_64-unknown-linux", ["libc.musl-x86_64.so.1"], "musl"),
    ],
)
def test_the_c_library_is_the_one_that_is_needed(target: str, needed: list[str], libc: str) -> None:
    assert platform_of(62, target, needed) == Platform("x86_64", libc)


@pytest.mark.parametrize(("machine", "target"), [(40, "armv7-linux-gnueabihf"), (62, "x86_64-unknown-freebsd")])
def test_platforms_without_a_tag(machine: int, target: str) -> None:
    with pytest.raises(ForeignLibrary, match=f"packages for {target} are not supported"):
        platform_of(machine, target, [])


@pytest.mark.parametrize("version", ["GLIBC_PRIVATE", "GLIBC_3.1", "OPENSSL_1.1"])
def test_versions_that_no_wheel_can_promise(version: str) -> None:
    with pytest.raises(LibraryError, match=f"symbols of the version {version}"):
        wheel_tag(Platform("x86_64", "glibc"), ["GLIBC_2.4", version])
