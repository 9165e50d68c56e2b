"""Files to download: those of a release, and made-up rows that fit what is declared about a table."""

from __future__ import annotations

import io
import re
import tempfile
import zipfile
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
from starlette.responses import Response

from discreet.desk import Desk, Visitor
from discreet.desk.practice import made_up
from discreet.errors import Refusal
from discreet.release.certificate import Certificate
from discreet.release.folder import CERTIFICATE, PAGE, RELEASE

RELEASE_PATH = "/published/{entry}/{name}"
_ASKED = re.compile(r"/published/([1-9][0-9]{0,14})/([A-Za-z0-9_-]+\.(json|html|parquet|zip))", re.ASCII)
_KINDS = {
    "json": "application/json",
    "html": "text/html; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "zip": "application/zip",
}
_WORDS = {CERTIFICATE: "what is promised, and the proof", RELEASE: "all of it, for discreet", PAGE: "a page to read"}
SAMPLE_PATH = "/made-up/{name}"
_NAME = re.compile(r"/made-up/([A-Za-z_]\w*)\.(csv|parquet)", re.ASCII)
_LABEL = {"source": "made up by discreet from declarations alone; nobody in it is real"}
_SAMPLE_KINDS = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


def folder_name(entry: int) -> str:
    """What the folder of a release is called."""
    return f"release-{entry}"


def release_address(entry: int, name: str = "") -> str:
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


def release_response(desk: Desk, visitor: Visitor, path: str) -> Response:
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


def sample_address(table: str, kind: str) -> str:
    """Where the made-up rows of a table are."""
    return f"/made-up/{table}.{kind}"


def sample_response(desk: Desk, visitor: Visitor, path: str) -> Response:
    """A file of made-up rows, if the visitor may ask about the table."""
    asked = _NAME.fullmatch(path)
    tables = {table.name: table for table in desk.tables(visitor)}
    if asked is None or asked[1] not in tables:
        raise Refusal("there is nothing of this kind here")
    name, kind = asked[1], asked[2]
    rows, file = made_up(tables[name]).replace_schema_metadata(_LABEL), io.BytesIO()
    pyarrow.csv.write_csv(rows, file) if kind == "csv" else pyarrow.parquet.write_table(rows, file)
    headers = {"content-disposition": f'attachment; filename="made-up-{name}.{kind}"'}
    return Response(file.getvalue(), headers=headers, media_type=_SAMPLE_KINDS[kind])
