"""The SDK: used by CMake, by pkg-config and a compiler, from C and from C++, wherever it is unpacked."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from packaged import run, succeed

CMAKE, PKG_CONFIG, CC, CXX = (pytest.mark.needs(name) for name in ("cmake", "pkg-config", "cc", "c++"))

MAIN_C = """#include <model.h>
#include <stdio.h>
int main(void) {
  double X[4] = {1, 0, 0, 1}, y[2] = {1, 1}, w[2] = {0, 3}, loss, g[2];
  if (squares(2, 2, X, y, w, &loss, g, NULL)) return 1;
  printf("%g %g %g\\n", loss, g[0], g[1]);
  return 0;
}
"""

MAIN_CPP = """#include <model.hpp>
#include <array>
#include <cmath>
#include <iostream>

namespace model = aotensor::model;

int main() {
  const std::vector<double> X{1, 0, 0, 1}, y{1, 1}, w{0, 3};
  const auto [loss, gradient] = model::squares(2, 2, X, y, w);
  std::cout << loss << ' ' << gradient.at(0) << ' ' << gradient.at(1) << '\\n';

  double again = 0;
  std::array<double, 2> g{};
  std::vector<std::byte> workspace(static_cast<std::size_t>(::squares_workspace(2, 2)) + 1);
  model::squares(2, 2, X, y, w, again, g, workspace);
  if (again != loss || g[1] != gradient[1]) return 1;

  const double one = model::pick(2, y, 1);
  const auto several = model::several(2, y);
  if (one != 1 || several.out0[1] != 2 || !several.out2[0]) return 2;
  if (std::abs(several.out1 - 2 * std::exp(1.0)) > 1e-12) return 2;

  const auto nothing = model::squares(0, 0, {}, {}, {});
  if (nothing.loss != 0 || !nothing.grad_w.empty()) return 3;

  try {
    model::pick(2, y, 9);
    return 4;
  } catch (const aotensor::status_error &error) {
    if (error.status() < AOTENSOR_CHECK) return 5;
    std::cout << error.what() << '\\n';
  }
  try {
    model::squares(2, 3, X, y, w);
    return 6;
  } catch (const std::invalid_argument &error) {
    std::cout << error.what() << '\\n';
  }
  try {
    model::squares(-1, 2, {}, {}, w);
    return 7;
  } catch (const aotensor::status_error &error) {
    std::cout << error.status() << '\\n';
  }
  return 0;
}
"""
SAID_BY_C = "5 -2 4\n"


@pytest.fixture(scope="module")
def sdk(packed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(packed, "model-1.2", tmp_path_factory.mktemp("a place"))


def unpacked(packed: Path, name: str, folder: Path) -> Path:
    with tarfile.open(packed / f"{name}-linux-x86_64.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / name


def test_what_is_inside(sdk: Path) -> None:
    assert sorted(str(path.relative_to(sdk)) for path in sdk.rglob("*") if path.is_file()) == [
        "LICENSE", "README.md", "include/model.h", "include/model.hpp", "lib/cmake/model/model-config-version.cmake",
        "lib/cmake/model/model-config.cmake", "lib/libmodel.a", "lib/libmodel.so", "lib/pkgconfig/model.pc",
    ]  # fmt: skip
    assert (sdk / "LICENSE").read_text().startswith("Generated code is yours.")
    assert (sdk / "lib/libmodel.so").stat().st_mode & 0o777 == 0o755
    readme = (sdk / "README.md").read_text()
    assert "int32_t pick(int64_t n, const double *y, const int64_t *i, double *out, void *workspace);" in readme
    assert "aotensor::model" in readme


def project(folder: Path, lines: str, languages: str = "C") -> None:
    folder.mkdir()
    (folder / "main.c").write_text(MAIN_C)
    (folder / "main.cpp").write_text(MAIN_CPP)
    (folder / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.19)\nproject(user {languages})\nset(CMAKE_CXX_STANDARD 20)\n{lines}\n"
    )


def configured(folder: Path, sdk: Path) -> None:
    succeed("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={sdk}")
    succeed("cmake", "--build", folder / "build")


@CMAKE
@CC
@CXX
def test_cmake(sdk: Path, tmp_path: Path) -> None:
    project(
        tmp_path / "user",
        """find_package(model 1.1 REQUIRED)
find_package(model 1.2 EXACT REQUIRED)
find_package(model 0.5...1.2 REQUIRED)
find_package(model 1.0...<2 REQUIRED)
add_executable(shared main.c)
target_link_libraries(shared PRIVATE model::model)
add_executable(static main.c)
target_link_libraries(static PRIVATE model::model_static)
add_executable(spans main.cpp)
target_link_libraries(spans PRIVATE model::model)""",
        "C CXX",
    )
    configured(tmp_path / "user", sdk)
    build = tmp_path / "user" / "build"
    assert succeed(build / "shared") == succeed(build / "static") == SAID_BY_C
    assert "libmodel.so" not in succeed("ldd", build / "static")
    assert succeed(build / "spans").startswith(SAID_BY_C)


@CMAKE
@pytest.mark.parametrize("wanted", ["1.3", "2", "0.9", "1.0...1.1", "1.0...<1.2", "1.3...2"])
def test_cmake_refuses_other_versions(sdk: Path, tmp_path: Path, wanted: str) -> None:
    project(tmp_path / "user", f"find_package(model {wanted} REQUIRED)", "NONE")
    answer = run("cmake", "-S", tmp_path / "user", "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={sdk}")
    assert answer.code != 0 and "version: 1.2" in answer.err


@CMAKE
def test_cmake_says_which_platform_is_meant(sdk: Path, tmp_path: Path) -> None:
    script = tmp_path / "find.cmake"
    script.write_text(
        f'set(CMAKE_SYSTEM_NAME Windows)\nset(CMAKE_SYSTEM_PROCESSOR AMD64)\nset(model_DIR "{sdk}/lib/cmake/model")\n'
        "find_package(model REQUIRED CONFIG)\n"
    )
    answer = run("cmake", "-P", script.name, cwd=tmp_path)
    assert answer.code != 0
    assert "model is for linux-x86_64, this is Windows on AMD64" in " ".join(answer.err.split())


BOTH_C = """#include <model.h>
#include <other.one.h>
#include <stddef.h>
int main(void) {
  double y[2] = {4, 5}, picked; int64_t i = 1;
  float x = 2, twice; int8_t l = 3, more;
  return pick(2, y, &i, &picked, NULL) || my_std(&x, &l, &twice, &more, NULL) || picked != 5 || twice != 4 || more != 4;
}
"""


@CMAKE
@CC
def test_cmake_with_several_libraries(packed: Path, tmp_path: Path) -> None:
    """Each has a target, and the package has one for all of them."""
    sdk = unpacked(packed, "pair-2.0rc1", tmp_path)
    project(
        tmp_path / "user",
        """find_package(pair 2.0 REQUIRED)
add_executable(each main.c)
target_link_libraries(each PRIVATE pair::model pair::other.one)
add_executable(together main.c)
target_link_libraries(together PRIVATE pair::pair)""",
    )
    (tmp_path / "user" / "main.c").write_text(BOTH_C)
    configured(tmp_path / "user", sdk)
    succeed(tmp_path / "user" / "build" / "each")
    succeed(tmp_path / "user" / "build" / "together")


@PKG_CONFIG
@CC
def test_pkg_config(packed: Path, tmp_path: Path) -> None:
    sdk = unpacked(packed, "model-1.2", tmp_path)
    (tmp_path / "main.c").write_text(MAIN_C)
    found = {"PKG_CONFIG_PATH": str(sdk / "lib" / "pkgconfig")}
    assert succeed("pkg-config", "--modversion", "model", **found) == "1.2\n"
    shared = succeed("pkg-config", "--cflags", "--libs", "model", **found).split()
    succeed("cc", "-Wall", "-Wextra", "-Werror", "main.c", *shared, "-o", "shared", cwd=tmp_path)
    assert succeed(tmp_path / "shared", LD_LIBRARY_PATH=str(sdk / "lib")) == SAID_BY_C
    (sdk / "lib" / "libmodel.so").unlink()  # the static library has the same name for the linker
    static = succeed("pkg-config", "--static", "--cflags", "--libs", "model", **found).split()
    succeed("cc", "main.c", *static, "-o", "static", cwd=tmp_path)
    assert succeed(tmp_path / "static") == SAID_BY_C


@CXX
def test_cpp(sdk: Path, tmp_path: Path) -> None:
    (tmp_path / "main.cpp").write_text(MAIN_CPP)
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
    link = [f"-I{sdk / 'include'}", f"-L{sdk / 'lib'}", "-lmodel", f"-Wl,-rpath,{sdk / 'lib'}"]
    succeed("c++", "-std=c++20", *warnings, "main.cpp", *link, "-o", "main", cwd=tmp_path)
    lines = succeed(tmp_path / "main").splitlines()
    assert lines[0] == SAID_BY_C.strip() and lines[1].startswith("pick: ") and len(lines) == 4
    assert lines[2] == "X has 4 elements, not 6" and int(lines[3]) > 0
    answer = run("c++", "-std=c++17", "main.cpp", f"-I{sdk / 'include'}", "-fsyntax-only", cwd=tmp_path)
    assert answer.code != 0 and "this header is for C++20" in answer.err


@CXX
def test_cpp_of_several_libraries(packed: Path, tmp_path: Path) -> None:
    """Headers in both orders, names that need care, a sparse matrix, a prefix."""
    sdk = unpacked(packed, "pair-2.0rc1", tmp_path)
    text = (sdk / "README.md").read_text()
    (space,) = {word.strip("`.") for word in text.split() if word.startswith("`aotensor::other_one")}
    body = (
        "int main() {\n  std::vector<double> data{1, 2}, v{3, 4}, y(2);\n"
        "  std::vector<int> indices{0, 1}, starts{0, 1, 2};\n"
        "  void *parts[] = {data.data(), indices.data(), starts.data()};\n"
        "  aotensor_sparse A{parts[0], parts[1], parts[2], 2, {2, 2}, AOTENSOR_FLOAT64, AOTENSOR_INT32};\n"
        f"  {space}::product(2, 2, A, v, y);\n"
        f"  const auto found = {space}::std(2.0f, 3);\n"
        f"  const auto own = {space}::result(2, v);\n  if (own.result_out[1] != 8 || own.workspace_ != 7) return 1;\n"
        "  return !(y[0] == 3 && y[1] == 8 && found.a_b == 4 && aotensor::model::pick(2, v, 1) == 4);\n}\n"
    )
    for number, names in enumerate((("model", "other.one"), ("other.one", "model"))):
        source = tmp_path / f"main{number}.cpp"
        source.write_text("".join(f"#include <{name}.hpp>\n" for name in names) + body)
        link = [f"-I{sdk / 'include'}", f"-L{sdk / 'lib'}", "-lmodel", "-lother.one", f"-Wl,-rpath,{sdk / 'lib'}"]
        succeed("c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", source, *link, "-o", tmp_path / f"main{number}")
        succeed(tmp_path / f"main{number}")
