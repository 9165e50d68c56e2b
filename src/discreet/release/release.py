"""Release: what was published, of whatever kind. All that is shown, answered or checked follows from it, free."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from discreet.errors import Refusal
from discreet.exact import Number, exact, shown, spoken
from discreet.mechanisms.registry import Plain
from discreet.pictures import Picture
from discreet.pictures.svg import plain
from discreet.release.axis import Side
from discreet.release.estimate import Estimate
from discreet.release.release_kind import named

FORMAT, EARLIER = "discreet-release-2", "discreet-release-1"
CUT_OFF = "What caps and bounds cut off before the counting is not in them."
_LINES = 12  # of a table that are spelled out
_NEAR = 1e-9  # how far apart two machines may compute one number
_LONGEST = 60  # letters of a file's name


@dataclass(frozen=True)
class Cell:
    """A cell of a table as people read it, and what stands beside a number: its error bar, or that it has none."""

    text: str
    beside: str = ""


@dataclass(frozen=True)
class Sheet:
    """The first rows of a table as people read them. The last `numbers` columns are numbers that were measured."""

    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    size: int  # rows that the table has
    numbers: int = 0


@dataclass(frozen=True)
class Release:
    """What was published: public facts about it, and what its kind adds. Kinds say more, and replace what is said here.

    `facts` hold at least kind, columns, guarantee, neighbours, caps and mechanism (`publication.facts_of`); they stand
    in the certificate word by word.
    """

    heading: ClassVar[str] = "What was published"  # above its pictures

    facts: Mapping[str, Plain] = field(hash=False)

    @property
    def kind(self) -> str:
        """The name of its kind."""
        return str(self.facts["kind"])

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that were published."""
        names: Any = self.facts["columns"]
        return tuple(names)

    @staticmethod
    def is_earlier(facts: Mapping[str, Plain]) -> bool:  # noqa: ARG004  # of kinds that are as old
        """Whether facts are those of a release in the first format."""
        return False

    @property
    def earlier(self) -> bool:
        """Whether it is in the first format."""
        return self.is_earlier(self.facts)

    @property
    def format(self) -> str:
        """The name of the format that it is written in."""
        return EARLIER if self.earlier else FORMAT

    # what is read off it ---------------------------------------------------------------------------------------------

    @property
    def bounding(self) -> str:
        """Which numbers have no error bar, and what error bars leave out."""
        return "How far off a number here may be is not known."

    @property
    def total(self) -> Estimate:
        """All records."""
        return self.range()

    @property
    def sides(self) -> tuple[Side, ...]:
        """The columns by which records are counted, each by its keys or bins; none where they are not counted."""
        return ()

    @property
    def line(self) -> str | None:
        """The column along which there are quantiles."""
        return None

    def side(self, column: str) -> Side:
        """One of its sides."""
        for side in self.sides:
            if side.column == column:
                return side
        there = [side.column for side in self.sides]
        raise Refusal(f"there is no column {shown(column)} in this release", hint=f"there are {there}")

    def range(self, /, **where: object) -> Estimate:  # noqa: ARG002  # of kinds that count
        """The records with these values."""
        raise Refusal(f"nothing is counted in a release of the kind {self.kind}", hint="read its tables")

    def quantile(self, level: Number) -> Estimate:  # noqa: ARG002  # of kinds that have some
        """The value below which this share of the records lies."""
        raise no_line(self.columns)

    # tables, files and pictures --------------------------------------------------------------------------------------

    def to_arrow(self) -> dict[str, pa.Table]:
        """Every table by its name."""
        return {}

    def printed(self) -> Iterable[pa.Table]:
        """The tables as they are spelled out in text."""
        return self.to_arrow().values()

    def sheet(self, table: pa.Table, most: int) -> Sheet:
        """The first rows of one of its tables."""
        rows = tuple(tuple(Cell(cell(value)) for value in row.values()) for row in table.slice(0, most).to_pylist())
        return Sheet(tuple(table.column_names), rows, table.num_rows)

    def tables_by_file(self) -> dict[str, pa.Table]:
        """Its tables by the names of their Parquet files. A column may have any name, and a file may not."""
        files: dict[str, pa.Table] = {}
        for number, (name, table) in enumerate(self.to_arrow().items(), start=1):
            file = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:_LONGEST] or "table"
            if f"{file}.parquet".lower() in (taken.lower() for taken in files):  # some disks know no small letters
                file = f"{file[: _LONGEST - 8]}-{number}"
            files[f"{file}.parquet"] = table
        return files

    def more_files(self) -> Mapping[str, bytes]:
        """Other files that follow from it, to the last byte."""
        return {}

    def pictures(self) -> Sequence[Picture]:
        """What is drawn of it."""
        return ()

    def thumbnail(self) -> str:
        """A picture without words, as SVG; nothing where there is nothing to draw."""
        return ""

    # what a page and a certificate say -------------------------------------------------------------------------------

    def exactness(self, tables: Mapping[str, pa.Table]) -> str:  # noqa: ARG002  # of kinds that look
        """How exact its tables are, in sentences."""
        return "The numbers are deliberately a little wrong: random noise was added before they were published."

    def declared(self) -> Sequence[str]:
        """What was public about its columns beforehand, as HTML."""
        return ()

    def rules(self) -> Sequence[str]:
        """What else was, as HTML: that rows without a value are left out, say."""
        return ()

    @staticmethod
    def left_out(facts: Mapping[str, Plain], unit: str) -> tuple[str, ...]:  # noqa: ARG004  # of kinds that leave out
        """What was not counted, in sentences."""
        return ()

    # checking --------------------------------------------------------------------------------------------------------

    def follows(self, stored: pa.Table, table: pa.Table) -> bool:
        """Whether a stored table is the one that follows, but for the last digits of floats."""
        if stored.schema.names != table.schema.names or stored.num_rows != table.num_rows:
            return False
        return all(self.same(name, stored[name], table[name]) for name in table.schema.names)

    def same(self, name: str, stored: pa.ChunkedArray, own: pa.ChunkedArray) -> bool:  # noqa: ARG002  # of kinds that look
        """Whether two columns of this name are."""
        return alike(stored, own)

    def unchecked(self) -> Sequence[str]:
        """What this discreet cannot check of it, in sentences."""
        return ()

    # as text ---------------------------------------------------------------------------------------------------------

    def body(self) -> dict[str, Any]:
        """What it holds besides its facts, as JSON can."""
        raise NotImplementedError

    @classmethod
    def read(cls, facts: Mapping[str, Plain], body: Mapping[str, Any]) -> Release:
        """The release that `body` told of; raises what nonsense raises."""
        raise NotImplementedError

    def to_json(self) -> str:
        """All of it as text that `from_json` reads back to the last bit."""
        return json.dumps({"format": self.format, "facts": dict(self.facts), **self.body()}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Release:
        """What `to_json` wrote, of whatever kind."""
        try:
            given = json.loads(text, parse_constant=_no_number)
            facts, kind = given["facts"], given["facts"]["kind"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise _no_release(text) from None
        known = named(kind).release
        try:
            release = known.read(facts, given)
            fits = isinstance(facts["guarantee"], dict) and given["format"] == release.format
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError, Refusal):
            raise _no_release(text) from None
        if not fits:
            raise _no_release(text)
        return release

    def __str__(self) -> str:
        """What was published, the first rows of each table, and what the errors mean."""
        guarantee: Any = self.facts["guarantee"]
        loss = ", ".join(f"{name} = {spoken(exact(guarantee[name], name))}" for name in guarantee if name != "measure")
        lines = [f"{self.kind} of {', '.join(self.columns)}: {guarantee['measure']} differential privacy, {loss}"]
        for table in self.printed():
            lines += ["", "  ".join(table.column_names)]
            lines += ["  ".join(map(_short, row.values())) for row in table.slice(0, _LINES).to_pylist()]
            lines += [f"… {table.num_rows - _LINES} more"] if table.num_rows > _LINES else []
        return "\n".join([*lines, "", self.bounding])


def alike(stored: pa.ChunkedArray, own: pa.ChunkedArray) -> bool:
    """Whether two columns are equal, but for the last digits of floats."""
    one, two = own.combine_chunks(), stored.combine_chunks()
    if one.equals(two):
        return True
    if not pa.types.is_floating(one.type) or one.type != two.type:
        return False
    ours, theirs = (each.to_numpy(zero_copy_only=False) for each in (one, two))
    return bool(np.allclose(ours, theirs, rtol=_NEAR, atol=_NEAR, equal_nan=True))


def cell(value: object) -> str:
    """A key or an edge as people write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return plain(value)
    return "NULL" if value is None else str(value) or "(empty)"


def no_line(columns: Sequence[str]) -> Refusal:
    """Why there are no quantiles."""
    return Refusal(
        f"shares and quantiles are along one column of numbers, and this has {list(columns)}",
        hint="publish the ranges of that column",
    )


def _short(value: object) -> str:
    return "NULL" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _no_release(text: object) -> Refusal:
    return Refusal(f"expected a release written by to_json, got {shown(text)}")


def _no_number(text: str) -> float:
    raise ValueError(text)
