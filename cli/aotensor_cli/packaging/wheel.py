"""Write a reproducible wheel: its bytes depend only on its content and SOURCE_DATE_EPOCH.

Source: PyPA, Binary distribution format; Core metadata.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from packaging.version import Version

from aotensor_cli.options import Refusal

_FIRST: Final = 315_532_800
"""The first second that a zip file can name, 1980-01-01."""
_LAST: Final = 4_354_819_199
"""And the last one, in 2107."""


def source_date() -> int:
    """The date of files in seconds since 1970: SOURCE_DATE_EPOCH, else 1980-01-01.   Raises: Refusal"""
    text = os.environ.get("SOURCE_DATE_EPOCH", "")
    if text and not text.isdecimal():
        raise Refusal(f"SOURCE_DATE_EPOCH is {text!r:.60}, not a number of seconds")
    return min(max(int(text or _FIRST), _FIRST), _LAST)


@dataclass(frozen=True)
class Wheel:
    """name: of the distribution, normalised. tag: such as py3-none-any. metadata: the file METADATA. files: by path

    bills: bills of materials (PEP 770), by file name.
    """

    name: str
    version: Version
    tag: str
    metadata: str
    files: Mapping[str, bytes]
    licence: str = ""
    bills: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def file_name(self) -> str:
        return f"{self._stem}-{self.tag}.whl"

    @property
    def _stem(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}"

    def content(self, made_by: str) -> bytes:
        """The bytes of the wheel."""
        info = f"{self._stem}.dist-info"
        is_pure = str(self.tag.endswith("-any")).lower()
        about = f"Wheel-Version: 1.0\nGenerator: {made_by}\nRoot-Is-Purelib: {is_pure}\nTag: {self.tag}\n"
        files = dict(sorted(self.files.items())) | {f"{info}/METADATA": self.metadata.encode()}
        files |= {f"{info}/WHEEL": about.encode()}
        files |= {f"{info}/licenses/LICENSE": self.licence.encode()} if self.licence else {}
        files |= {f"{info}/sboms/{file}": content for file, content in sorted(self.bills.items())}
        record = "".join(f"{path},{_digest(content)},{len(content)}\n" for path, content in files.items())
        files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
        return zipped(files)


def metadata(name: str, version: Version, summary: str, needs: Sequence[str], description: str, licence: bool) -> str:
    """The text of METADATA (core metadata).   needs: requirements. licence: there is a file with it"""
    lines = [
        "Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", f"Summary: {' '.join(summary.split())}",
        *(["License-File: LICENSE"] if licence else []), "Requires-Python: >=3.11",
        *(f"Requires-Dist: {need}" for need in needs), "Description-Content-Type: text/markdown",
    ]  # fmt: skip
    return "\n".join(lines) + f"\n\n{description}"


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Make a zip file of files in the given order."""
    date = time.gmtime(source_date())[:6]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, date)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3  # Unix, wherever it is made
            entry.external_attr = (0o100755 if path.endswith((".so", ".dylib")) else 0o100644) << 16
            archive.writestr(entry, content)
    return buffer.getvalue()


def _digest(content: bytes) -> str:
    """The digest of a file in RECORD's form."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
