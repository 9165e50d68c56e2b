"""The suite of relations, for rows in memory and for rows in DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest
from contract.relations import COST, PLACES, SIZES, WIDE, Contract, Row

from discreet.curator import catalogue
from discreet.curator.custody import Custody, Declared, found_home
from discreet.curator.run import row_outline
from discreet.engines import DuckRelation, DuckStore
from discreet.mechanisms import Column, Frame
from discreet.sql.relation_facts import shape
from discreet.sql.split_at_noise import rows_of

COLUMNS = (
    Column("who"),
    Column("place", keys=PLACES),
    Column("size", keys=SIZES),
    Column("cost", bounds=(COST.lower, COST.upper), step=COST.step),
    Column("wide", bounds=(WIDE.lower, WIDE.upper), step=WIDE.step),
)


@pytest.fixture(scope="module")
def made() -> Iterator[dict[str, DuckRelation]]:
    relations: dict[str, DuckRelation] = {}
    yield relations
    for relation in relations.values():
        relation.store.close()


class TestFrame(Contract):
    def made(self, rows: Sequence[Row], max_rows: int) -> Frame:
        names = [column.name for column in COLUMNS]
        data: dict[str, Any] = {name: [row[i] for row in rows] for i, name in enumerate(names)}
        return Frame.of(data, *COLUMNS, unit="who", max_rows=max_rows)


class TestDuckRelation(Contract):
    @pytest.fixture(autouse=True)
    def _homes(self, made: dict[str, DuckRelation], tmp_path_factory: pytest.TempPathFactory) -> None:
        self.ready, self.folders = made, tmp_path_factory

    def made(self, rows: Sequence[Row], max_rows: int) -> DuckRelation:
        """Nothing changes a relation, so each is made once."""
        said = f"{rows!r} {max_rows}"
        if said not in self.ready:
            self.ready[said] = self.new(rows, max_rows)
        return self.ready[said]

    def new(self, rows: Sequence[Row], max_rows: int) -> DuckRelation:
        home = self.folders.mktemp("relation") / "home"
        found_home(home)
        kinds = [pa.int64(), pa.string(), pa.int64(), pa.float64(), pa.int64()]
        columns = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds)]
        declared = Declared(
            unit="who",
            epsilon=1,
            max_rows=max_rows,
            bounds={"cost": (COST.lower, COST.upper), "wide": (WIDE.lower, WIDE.upper)},
            steps={"cost": COST.step},
            keys={"place": ("north", "south"), "size": ("1", "2", "5")},
        )
        Custody(home).add("t", pa.table(columns, names=[column.name for column in COLUMNS]), declared)
        known = catalogue.read(home)
        tree = rows_of("SELECT who, place, size, cost, wide FROM t", known.schema)
        public = shape(tree)
        outline = row_outline(public, known.population(public.population or ""), max_rows)
        schema = {**outline.schema, **{column.name: column for column in COLUMNS if column.name == "place"}}
        return DuckRelation(DuckStore(home / "tables"), tree, schema, outline.caps, outline.neighbours)
