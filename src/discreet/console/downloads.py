"""Files to download: those of a release, an answer with its citation, and made-up rows that fit what is declared."""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.csv
import pyarrow.parquet
from starlette.responses import Response

from discreet.console.prices import when
from discreet.curator import Answer
from discreet.curator.answer import Spans
from discreet.curator.explain import said
from discreet.curator.purchase import PastPayment, total
from discreet.desk import Desk, Visitor
from discreet.desk.practice_home import made_up
from discreet.errors import Refusal
from discreet.exact import shown
from discreet.ledger import Head
from discreet.privacy import Neighbours, Replace
from discreet.release.certificate import Certificate
from discreet.release.folder import CERTIFICATE, PAGE, RELEASE

if TYPE_CHECKING:
    import pyarrow as pa

RELEASE_PATH = "/published/{entry}/{name}"
_ASKED = re.compile(r"/published/([1-9][0-9]{0,14})/([A-Za-z0-9_-]+\.([a-z0-9]{1,12}))", re.ASCII)
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
_KEY = b"discreet.citation"
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would compute a text that begins so
_FIRST = (1980, 1, 1, 0, 0, 0)  # the time of every file in a zip: the same answer gives the same bytes


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
        raise Refusal(f"there is nothing of this kind here: {shown(path)}")
    entry, name = int(asked[1]), asked[2]
    with tempfile.TemporaryDirectory(prefix="discreet-release-") as aside:
        folder = Path(aside) / folder_name(entry)
        certificate = desk.certified(visitor, entry, folder)
        if name == f"{folder_name(entry)}.zip":
            content = _zipped(folder)
        elif name in contents(certificate):
            content = (folder / name).read_bytes()
        else:
            raise Refusal(f"there is nothing of this kind here: {shown(path)}")
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, headers=headers, media_type=_KINDS.get(asked[3], "application/octet-stream"))


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
        raise Refusal(f"there is nothing of this kind here: {shown(path)}")
    name, kind = asked[1], asked[2]
    rows, file = made_up(tables[name]).replace_schema_metadata(_LABEL), io.BytesIO()
    pyarrow.csv.write_csv(rows, file) if kind == "csv" else pyarrow.parquet.write_table(rows, file)
    headers = {"content-disposition": f'attachment; filename="made-up-{name}.{kind}"'}
    return Response(file.getvalue(), headers=headers, media_type=_SAMPLE_KINDS[kind])


@dataclass(frozen=True)
class Citation:
    """Where an answer comes from."""

    sql: str
    population: str
    neighbours: Neighbours
    paid: str
    entries: tuple[int, ...]  # of the ledger: those that hold the answer
    asked: str  # when it was paid for
    head: Head
    bounding: str
    confidence: str
    notices: tuple[str, ...] = ()
    unbarred: tuple[str, ...] = ()  # the columns that have noise in them and no error bar

    @property
    def title(self) -> str:
        """What the numbers are, in a line."""
        return f"Differentially private answer about {self.population}"

    @property
    def promise(self) -> str:
        """The whole guarantee: how much, and for which change of the data."""
        unit = self.neighbours.unit
        change = "replaced by others" if isinstance(self.neighbours, Replace) else "added or removed"
        return f"{self.paid}, when all rows of one {unit} are {change}"

    @property
    def how_to_cite(self) -> str:
        """One sentence for a paper."""
        entries = ", ".join(str(entry) for entry in self.entries)
        return (
            f"{self.title} ({self.promise}), {when(self.asked)}; ledger entries {entries} "
            f"under the root {self.head.root} of {self.head.size} entries; made with discreet."
        )

    def body(self) -> dict[str, object]:
        """The same as JSON."""
        return {
            "title": self.title,
            "question": self.sql,
            "population": self.population,
            "neighbours": "replace" if isinstance(self.neighbours, Replace) else "add-remove",
            "unit": self.neighbours.unit,
            "guarantee": self.paid,
            "date": self.asked,
            "entries": list(self.entries),
            "head": dict(self.head.__dict__),
            "confidence": self.confidence,
            "no_error_bar": list(self.unbarred),
            "bounding": self.bounding,
            "notices": list(self.notices),
            "how_to_cite": self.how_to_cite,
            "downloaded": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }

    def text(self) -> str:
        """A file to read before the numbers."""
        return "\n".join(
            [
                self.title,
                "",
                "The question:",
                self.sql,
                "",
                f"Guarantee      {self.promise}",
                f"Paid           {when(self.asked)}",
                f"Ledger         entries {', '.join(str(entry) for entry in self.entries)}, head of {self.head.size}",
                f"Root           {self.head.root}",
                "",
                f"Columns that end in _low and _high are the ends of error bars, at confidence {self.confidence}.",
                *([f"No error bar: {', '.join(self.unbarred)}."] if self.unbarred else []),
                "A text that a spreadsheet would compute begins with an apostrophe.",
                *(sentence for sentence in self.notices if sentence not in self.bounding),
                self.bounding,
                "",
                "How to cite:",
                self.how_to_cite,
                "",
            ]
        )


def cited(sql: str, answer: Answer, receipts: Sequence[PastPayment], neighbours: Neighbours, head: Head) -> Citation:
    """The citation of an answer, from the receipts that whoever takes it may see."""
    entries = tuple(int(entry) for entry in answer.entry.split(",") if entry)
    known: Mapping[int, PastPayment] = {each.answer: each for each in receipts if each.answer is not None}
    mine = [known[entry] for entry in entries if entry in known]
    paid = total([each.loss for each in mine])
    words = "" if paid is None else said(paid)
    if len(mine) < len(entries):
        others = "a price that somebody else paid, which the entries of the ledger name"
        words = f"{words} and {others}" if words else others
    latest = max(mine or receipts, key=lambda each: each.entry)
    return Citation(
        sql,
        latest.population,
        neighbours,
        words or "nothing",
        entries,
        latest.time,
        head,
        answer.bounding,
        f"{float(answer.confidence):g}",
        answer.notices,
        answer.unbarred,
    )


def as_zip(answer: Answer, citation: Citation) -> bytes:
    """A zip with the rows as CSV, the citation as JSON, and both explained."""
    written = io.BytesIO()
    files = {
        "answer.csv": as_csv(answer),
        "citation.json": json.dumps(citation.body(), indent=2, ensure_ascii=False) + "\n",
        "README.txt": citation.text(),
    }
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in files.items():
            made.writestr(zipfile.ZipInfo(name, _FIRST), text.encode(), zipfile.ZIP_DEFLATED)
    return written.getvalue()


def as_csv(answer: Answer) -> str:
    """The rows, with the ends of each error bar in columns of their own. NULL is an empty cell."""
    table = with_error(answer)
    columns = [column.to_pylist() for column in table.columns]
    return _csv([table.column_names, *zip(*columns, strict=True)], "\r\n")


def _inert(cell: object) -> object:
    """A text that a spreadsheet does not compute."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULAS) else cell


def as_parquet(answer: Answer, citation: Citation) -> bytes:
    """The same as Parquet, with the citation in the file's own metadata."""
    import pyarrow as pa  # noqa: PLC0415  # slow to import
    import pyarrow.parquet as pq  # noqa: PLC0415

    table = with_error(answer)
    kept = {_KEY: json.dumps(citation.body(), ensure_ascii=False).encode(), b"title": citation.title.encode()}
    written = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({**(table.schema.metadata or {}), **kept}), written)
    return bytes(written.getvalue().to_pybytes())


def with_error(answer: Answer) -> pa.Table:
    """The rows as an Arrow table, and for each noisy column two more."""
    import pyarrow as pa  # noqa: PLC0415  # slow to import

    table = answer.to_arrow()
    for place, name in enumerate(answer.columns):
        spans = [row[place] for row in answer.spans]
        if all(span is None for span in spans):
            continue
        for end, word in enumerate(("low", "high")):
            cells = [None if span is None else float(span[end]) for span in spans]
            table = table.append_column(_free(f"{name}_{word}", table.column_names), pa.array(cells, pa.float64()))
    return table


def _free(name: str, taken: Sequence[str]) -> str:
    """A name that no column has yet."""
    while name in taken:
        name += "_"
    return name


def shown_csv(answer: Answer, spans: Spans, confidence: Fraction) -> str:
    """The rows as a page shows them: beside each number with an error, between which numbers the truth lies."""
    noisy = [any(row[place] is not None for row in spans) for place in range(len(answer.columns))]
    sure = f"{float(confidence):.0%}"
    head = [
        title
        for name, has in zip(answer.columns, noisy, strict=True)
        for title in ((name, f"{name} low {sure}", f"{name} high {sure}") if has else (name,))
    ]
    rows = [
        [
            text
            for cell, span, has in zip(row, ends, noisy, strict=True)
            for text in ((cell, *(span or ("", ""))) if has else (cell,))
        ]
        for row, ends in zip(answer.rows, spans, strict=True)
    ]
    return _csv([head, *rows], "\n")


def _csv(rows: Iterable[Sequence[object]], end: str) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator=end).writerows([_inert(cell) for cell in row] for row in rows)
    return written.getvalue()
