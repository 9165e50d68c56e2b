"""Golden pairs `question ; plan`, in plans.txt. `python -m tests.sql.golden --write` approves the plans of today.

Sections whose questions come from other tests or from a seed are written anew as a whole. In the others the questions
are those of the file: to add one, write it there with ` ;` behind it, and approve.
"""

from __future__ import annotations

import argparse
import gc
import re
import sys
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests find each other as they do under pytest

import clinic
import duckdb
import hospital
import pyarrow as pa
from curator import test_golden, test_shapes
from differential.asking import question_of
from differential.families import FAMILIES
from differential.files import declared as declared_of
from differential.world import made
from sql.elsewhere import elsewhere
from sql.plan_text import question_text, schema_text
from sqlglot import exp

from discreet.curator.catalogue import Catalogue, Population
from discreet.curator.declarations import Declared, declared
from discreet.declared.group_key import Type
from discreet.declared.table import Caps, Schema, Table
from discreet.errors import Refusal
from discreet.sql import fanout, render
from discreet.sql.expression import Expression
from discreet.sql.owned_rows import Inline, Rows
from discreet.sql.plan import Question
from discreet.sql.split_at_noise import question

FILE = Path(__file__).with_name("plans.txt")
WORLDS = ((26, 1), (5, 3))  # seeds and rows of made-up tables
Wanted = tuple[int | None, int | None]  # caps on rows and groups, as they are asked for
DECLARED: Wanted = None, None
_TERMS = re.compile(r"\[([^]]*)\] (.*)")


@dataclass(frozen=True)
class Asked:
    """A question, the caps that it sets for itself, and what the questions before it were answered."""

    sql: str
    caps: Wanted = DECLARED
    scalars: tuple[object, ...] = ()

    def __str__(self) -> str:
        said = [f"{what} {cap}" for what, cap in zip(("rows", "groups"), self.caps, strict=True) if cap is not None]
        said += [f"first {value}" for value in self.scalars]
        return (f"[{', '.join(said)}] " if said else "") + self.sql + " ;"

    @classmethod
    def read(cls, line: str) -> Asked:
        """A question as it is written in the file."""
        terms, sql = found.groups() if (found := _TERMS.fullmatch(line)) else ("", line)
        words = [term.split(" ", 1) for term in terms.split(", ") if term]
        caps = {word: int(value) for word, value in words if word != "first"}
        scalars = tuple(None if value == "None" else float(value) for word, value in words if word == "first")
        return cls(sql.removesuffix(" ;"), (caps.get("rows"), caps.get("groups")), scalars)


@dataclass(frozen=True)
class Memory:
    """Public tables in the memory of an engine: what a home has in files."""

    connection: duckdb.DuckDBPyConnection
    schema: Schema

    def values(self, rows: Rows, column: str, /) -> tuple[object, ...]:
        """The values of a column, in their own order."""
        name, text = render.quoted(column), render.rows(rows, _HERE)
        return tuple(row[0] for row in self._asked(f"SELECT DISTINCT {name} FROM ({text}) ORDER BY {name}"))

    def answered(self, query: exp.Query, /) -> Inline:
        """The answer to a question about public tables alone, as rows."""
        found = self.connection.execute(query.sql(dialect="duckdb"))
        kinds = [_KINDS[str(kind).split("(", maxsplit=1)[0]] for _, kind, *_ in found.description or ()]
        read = {table.name for table in query.find_all(exp.Table)}
        tables = tuple(self.schema.table(name) for name in sorted(read))
        return Inline(tuple(zip(query.named_selects, kinds, strict=True)), tuple(found.fetchall()), tables)

    def alike(self, rows: Rows, values: tuple[Expression, ...], /) -> int:
        """The largest number of rows that have the same values; of no values, all rows."""
        [(most,)] = self._asked(fanout.counted(rows, values, _HERE))
        return int(str(most))

    def _asked(self, text: str) -> list[tuple[object, ...]]:
        return self.connection.execute(text).fetchall()


_HERE = render.Located(lambda table: render.quoted(table.name))
_KINDS = {"BIGINT": Type.BIGINT, "VARCHAR": Type.VARCHAR, "DOUBLE": Type.DOUBLE, "HUGEINT": Type.BIGINT}


_PLACES = count()


@cache
def _engine() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


def memory(schema: Schema, content: dict[str, pa.Table]) -> Memory:
    """Public tables with these rows, beside those of the other sections in one engine: it takes long to start."""
    connection = _engine().cursor()
    place = f"section_{next(_PLACES)}"
    connection.execute(f"CREATE SCHEMA {place}; USE {place}")
    for name, rows in content.items():
        connection.register("source", rows)
        connection.execute(f"CREATE TABLE {render.quoted(name)} AS SELECT * FROM source")
    return Memory(connection, schema)


@dataclass(frozen=True)
class Section:
    """Questions about one schema, by the headings under which they stand; those of the file if none are given."""

    name: str
    public: Memory
    questions: dict[str, list[Asked]] | None = None

    @property
    def schema(self) -> Schema:
        """What is declared."""
        return self.public.schema


def sections() -> list[Section]:
    """All of them; a schema is made once."""
    rows = hospital.rows()
    wards = {name: hospital.table(name, rows[name]) for name in ("wards", "regions")}
    ill = memory(_hospital(), wards)
    beds = pa.table({"ward": ["w1", "w2"], "beds": pa.array([10, 15], pa.int64())})
    seen = memory(clinic.schema(), {"wards": beds})
    shapes = {name: [Asked(sql) for sql in texts] for name, texts in test_shapes.ANSWERED.items()}
    shapes["7 and 8 quantiles"] = [Asked(sql) for sql, _, _ in test_shapes.QUANTILES]
    shapes["of the standard"] = [Asked(sql) for sql in test_shapes.TRANSLATED]
    small = {"counts": test_golden.EXACT, "sums": test_golden.NEAR}
    return [
        Section("hospital, asked what analysts ask", ill, shapes),
        Section("hospital, asked more", ill),
        Section("clinic", seen, {name: [Asked(sql) for sql in texts] for name, texts in small.items()}),
        Section("elsewhere", memory(*elsewhere())),
        *(_made(seed, rows) for seed, rows in WORLDS),
    ]


def _hospital() -> Schema:
    kinds = {pa.int64(): Type.BIGINT, pa.string(): Type.VARCHAR, pa.float64(): Type.DOUBLE, pa.bool_(): Type.BOOLEAN}
    kinds |= {pa.date32(): Type.DATE, pa.timestamp("us"): Type.TIMESTAMP}
    said = {name: hospital.declared(name) for name in hospital.COLUMNS}
    columns = {name: {c: kinds[kind] for c, kind in each.items()} for name, each in hospital.COLUMNS.items()}
    return _declared(said, columns)


def _declared(said: dict[str, Declared], columns: dict[str, dict[str, Type]]) -> Schema:
    """What a custodian declares of tables, one after the other, without any rows of people."""
    tables: dict[str, Table] = {}
    people: dict[str, Population] = {}
    for name, each in said.items():
        tables[name], whose = declared(name, columns[name], each, Catalogue(people, tables))
        people |= {} if whose is None else {whose.name: whose}
    return Schema(tables)


_OF_WORLDS = {
    "whole": Type.BIGINT, "real": Type.DOUBLE, "decimal": Type.DOUBLE, "text": Type.VARCHAR, "flag": Type.BOOLEAN,
    "date": Type.DATE, "moment": Type.TIMESTAMP,
}  # fmt: skip


def _made(seed: int, rows: int) -> Section:
    world = made(seed, rows)
    said = {sheet.name: declared_of(world, sheet) for sheet in world.sheets.values()}
    columns = {s.name: {each.name: _OF_WORLDS[each.kind] for each in s.fields} for s in world.sheets.values()}
    schema = _declared(said, columns)
    public = {
        sheet.name: pa.table({each.name: sheet.columns[each.role] for each in sheet.fields})
        for sheet in world.sheets.values()
        if sheet.unit is None and not sheet.linked
    }
    questions: dict[str, list[Asked]] = {}
    for number in range(len(FAMILIES)):
        each = question_of(world, number)
        questions.setdefault(each.kind, []).append(Asked(each.ours, each.caps or DECLARED))
    return Section(f"made up of seed {seed}", memory(schema, public), questions)


# the file -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """One question with its plan, or the refusal of it."""

    heading: str
    asked: Asked
    plan: Question | Refusal

    def __str__(self) -> str:
        text = f"refused: {self.plan.message}" if isinstance(self.plan, Refusal) else question_text(self.plan)
        return f"{self.asked}\n{text}".replace("\n", "\n  ")


@dataclass(frozen=True)
class Planned:
    """The pairs of one section."""

    section: Section
    pairs: tuple[Pair, ...]

    def __str__(self) -> str:
        lines = [f"=== {self.section.name}", schema_text(self.section.schema), ""]
        heading = ""
        for pair in self.pairs:
            lines += [f"-- {pair.heading}", ""] if pair.heading != heading else []
            lines += [str(pair), ""]
            heading = pair.heading
        return "\n".join(lines)


def planned(text: str) -> list[Planned]:
    """Every pair; in sections without questions of their own, about those of the file's text."""
    written = _questions(text)
    found = []
    gc.disable()  # trees of SQL hold on to each other, and searching them for what could go takes a third of the time
    try:
        for section in sections():
            own = section.questions if section.questions is not None else written.get(section.name, {})
            pairs = [Pair(heading, asked, _plan(section, asked)) for heading, each in own.items() for asked in each]
            found.append(Planned(section, tuple(pairs)))
    finally:
        gc.enable()
    return found


def _plan(section: Section, asked: Asked) -> Question | Refusal:
    try:
        return question(asked.sql, section.schema, Caps(*asked.caps), section.public, asked.scalars)
    except Refusal as refusal:
        return refusal


def _questions(text: str) -> dict[str, dict[str, list[Asked]]]:
    """The questions of a file, by their sections and headings."""
    found: dict[str, dict[str, list[Asked]]] = {}
    section = heading = ""
    for line in text.splitlines():
        if line.startswith("=== "):
            section, heading = line.removeprefix("=== "), ""
        elif line.startswith("-- "):
            heading = line.removeprefix("-- ")
        elif line.endswith(" ;") and not line.startswith(" "):
            found.setdefault(section, {}).setdefault(heading, []).append(Asked.read(line))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Print what would be written, or write it."""
    parser = argparse.ArgumentParser(description="Plans of many questions, one after the other.")
    parser.add_argument("--write", action="store_true", help="approve the plans as they are now")
    made_now = "\n".join(map(str, planned(FILE.read_text("utf-8"))))
    if parser.parse_args(arguments).write:
        FILE.write_text(made_now, "utf-8")
    else:
        sys.stdout.write(made_now)
    return 0


if __name__ == "__main__":
    sys.exit(main())
