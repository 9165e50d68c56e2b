"""Made-up rows to take home: they fit what is declared about a table, and nobody is in them."""

from __future__ import annotations

import io
import re

import pyarrow.csv
import pyarrow.parquet
from starlette.responses import Response

from discreet.curator.practice import made_up
from discreet.desk import Desk, Visitor
from discreet.errors import Refusal

PATH = "/made-up/{name}"
_NAME = re.compile(r"/made-up/([A-Za-z_]\w*)\.(csv|parquet)", re.ASCII)
_LABEL = {"source": "made up by discreet from declarations alone; nobody in it is real"}
_KINDS = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


def address(table: str, kind: str) -> str:
    """Where the made-up rows of a table are."""
    return f"/made-up/{table}.{kind}"


def response(desk: Desk, visitor: Visitor, path: str) -> Response:
    """A file of made-up rows, if the visitor may ask about the table."""
    asked = _NAME.fullmatch(path)
    tables = {table.name: table for table in desk.tables(visitor)}
    if asked is None or asked[1] not in tables:
        raise Refusal("there is nothing of this kind here")
    name, kind = asked[1], asked[2]
    rows, file = made_up(tables[name]).replace_schema_metadata(_LABEL), io.BytesIO()
    pyarrow.csv.write_csv(rows, file) if kind == "csv" else pyarrow.parquet.write_table(rows, file)
    headers = {"content-disposition": f'attachment; filename="made-up-{name}.{kind}"'}
    return Response(file.getvalue(), headers=headers, media_type=_KINDS[kind])
