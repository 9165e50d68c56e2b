"""An answer to take along: its rows, their error, and where they come from, so that others can check it."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from discreet.console.amounts import when
from discreet.curator import Answer
from discreet.curator.explain import said
from discreet.curator.purchase import PastPayment, total
from discreet.ledger import Head
from discreet.privacy import Neighbours, Replace

if TYPE_CHECKING:
    import pyarrow as pa

_KEY = b"discreet.citation"
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would compute a text that begins so
_FIRST = (1980, 1, 1, 0, 0, 0)  # the time of every file in a zip: the same answer gives the same bytes


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
    written = io.StringIO()
    pen = csv.writer(written, lineterminator="\r\n")
    pen.writerow([_inert(name) for name in table.column_names])
    columns = [[_inert(cell) for cell in column.to_pylist()] for column in table.columns]
    pen.writerows(zip(*columns, strict=True))
    return written.getvalue()


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
