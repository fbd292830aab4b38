"""`aotensor bench --plot`: the picture, and what is refused before anything is measured."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_line import Call

from aotensor_cli.benching.plot import MOST, Bar, check_plot, write_plot
from aotensor_cli.options import Refusal

QUICK = ("--seconds", "0.01", "--threads", "1,2")


def words_of(path: Path) -> str:
    return "\n".join(ElementTree.fromstring(path.read_text()).itertext())


def bar(label: str = "f n=10", threads: int = 1, least: float | None = 1e-6, compared: float | None = None) -> Bar:
    return Bar(label, threads, 2e-6, 1.9e-6, 2.2e-6, least, compared)


def test_a_picture_has_axes_labels_and_limits(spawn: Call, library: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    sizes = ("--sizes", "n=20,p=3", "--sizes", "n=4000,p=3")
    answer = spawn("bench", f"{library}:logistic_grad", *QUICK, *sizes, "--plot", tmp_path / "x.svg")
    assert answer.code == 0, answer.err
    assert "GFLOP/s" in answer.out, "the table is written, too"
    words = words_of(tmp_path / "x.svg")
    for word in (
        "time per call in seconds, log scale", "function, sizes, threads", "logistic_grad n=20, p=3, 1",
        "logistic_grad n=4000, p=3, 2", "1 thread", "2 threads", "limit of the machine",
    ):  # fmt: skip
        assert word in words, word
    assert "the other library" not in words


def test_a_picture_without_limits_as_png(call: Call, library: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    answer = call("bench", f"{library}:doubled", *QUICK, "--no-limits", "--plot", tmp_path / "x.png")
    assert answer.code == 0, answer.err
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_names_are_text_and_the_same_rows_give_the_same_file(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    bars = [bar("<script>$x^2$\u202e"), bar(threads=2, least=None, compared=3e-6)]
    for name in ("a.svg", "b.svg"):
        write_plot(tmp_path / name, bars)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    words = words_of(tmp_path / "a.svg")
    assert "<script>$x^2$\ufffd, 1" in words and "the other library" in words
    with pytest.raises(Refusal, match=f"{MOST + 1} measurements"):
        write_plot(tmp_path / "c.svg", [bar()] * (MOST + 1))


@pytest.mark.parametrize(
    ("name", "what"), [("x.pdf", ".svg or .png"), ("nowhere/x.svg", "no folder"), (".", "ends in")]
)
def test_what_is_no_place_for_a_picture(call: Call, library: Path, tmp_path: Path, name: str, what: str) -> None:
    answer = call("bench", library, "--plot", tmp_path / name)
    assert (answer.code, what in answer.err, answer.out) == (2, True, "")
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(Refusal, match="is a folder"):
        check_plot(tmp_path / "folder.svg")


def test_without_matplotlib_the_extra_is_named(library: Path, tmp_path: Path) -> None:
    """A module of that name that cannot be imported stands in front of any real one."""
    (tmp_path / "matplotlib.py").write_text("raise ImportError('blocked')\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "aotensor_cli", "bench", str(library), "--plot", str(tmp_path / "x.svg")],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 4 and done.stdout == ""
    assert "matplotlib" in done.stderr and "pip install 'aotensor[plot]'" in done.stderr
    assert "Traceback" not in done.stderr and not (tmp_path / "x.svg").exists()
