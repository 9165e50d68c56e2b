"""A release to take along: the files that anybody can check, one by one or all as one."""

from __future__ import annotations

import io
import re
import tempfile
import zipfile
from pathlib import Path

from starlette.responses import Response

from discreet.desk import Desk, Visitor
from discreet.errors import Refusal
from discreet.release.certificate import Certificate
from discreet.release.folder import CERTIFICATE, PAGE, RELEASE

PATH = "/published/{entry}/{name}"
_ASKED = re.compile(r"/published/([1-9][0-9]{0,14})/([A-Za-z0-9_-]+\.(json|html|parquet|zip))", re.ASCII)
_KINDS = {
    "json": "application/json",
    "html": "text/html; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "zip": "application/zip",
}
_WORDS = {CERTIFICATE: "what is promised, and the proof", RELEASE: "all of it, for discreet", PAGE: "a page to read"}


def folder_name(entry: int) -> str:
    """What the folder of a release is called."""
    return f"release-{entry}"


def address(entry: int, name: str = "") -> str:
    """Where a file of a release is; without a name, all of them."""
    return f"/published/{entry}/{name or f'{folder_name(entry)}.zip'}"


def contents(certificate: Certificate) -> dict[str, str]:
    """The files of a release, and what each is."""
    names = (CERTIFICATE, *sorted(certificate.files, key=lambda name: (name in (RELEASE, PAGE), name)))
    return {name: _WORDS.get(name, "its cells, one row each") for name in names}


def certified(desk: Desk, visitor: Visitor, entry: int) -> Certificate:
    """What comes with a release. It blocks."""
    with tempfile.TemporaryDirectory(prefix="discreet-release-") as aside:
        return desk.certified(visitor, entry, Path(aside) / folder_name(entry))


def response(desk: Desk, visitor: Visitor, path: str) -> Response:
    """A file of a release, if the visitor may read it. It blocks."""
    asked = _ASKED.fullmatch(path)
    if asked is None:
        raise Refusal("there is nothing of this kind here")
    entry, name = int(asked[1]), asked[2]
    with tempfile.TemporaryDirectory(prefix="discreet-release-") as aside:
        folder = Path(aside) / folder_name(entry)
        certificate = desk.certified(visitor, entry, folder)
        if name == f"{folder_name(entry)}.zip":
            content = _zipped(folder)
        elif name in contents(certificate):
            content = (folder / name).read_bytes()
        else:
            raise Refusal("there is nothing of this kind here")
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, headers=headers, media_type=_KINDS[asked[3]])


def _zipped(folder: Path) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, f"{folder.name}/{path.name}")
    return made.getvalue()
