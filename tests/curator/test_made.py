"""Questions of a generator over random schemas: equal to plain DuckDB, or within one person's caps, or refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb
import hospital
import pytest
import sqlmaker

from discreet.curator import Curator
from discreet.curator.custody import Custody, Declared, found_home
from discreet.errors import OverBudget, Refusal
from discreet.ledger import SqliteLedger

WORLDS = range(8)
QUICK = 2  # of them, with every source and every mistake
PLACES = [pytest.param(place, marks=[pytest.mark.slow] if place >= QUICK else []) for place in WORLDS]
FREE = range(14)  # no cap binds: equal to plain DuckDB
CAPPED = range(100, 109)  # caps bind nearly everybody: one person more moves an answer within them
REFUSED = range(26)
ROWS, GROUPS = 3, 2
CROWD = 2  # at a price this high, a group of two people is always named and one of a single person never

Group = tuple[object, ...]
Cells = dict[Group, Sequence[object]]


@dataclass(frozen=True)
class Homes:
    """A made schema: in a home, in a second home with one awkward person more, and in plain DuckDB."""

    world: sqlmaker.World
    folder: Path
    one: Curator
    more: Curator
    plain: duckdb.DuckDBPyConnection


Made = Callable[[int], Homes]


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Made:
    @cache
    def made(seed: int) -> Homes:
        world, folder = sqlmaker.world(seed), tmp_path_factory.mktemp(f"made{seed}")
        for name, baited in (("one", False), ("more", True)):
            keep(folder / name, world, baited=baited)
        share_salts(folder / "one", folder / "more")
        curators = Curator(folder / "one"), Curator(folder / "more")
        return Homes(world, folder, *curators, hospital.plain(world.tables(), {}))

    return made


def keep(folder: Path, world: sqlmaker.World, *, baited: bool) -> None:
    """A home with the tables of a made schema."""
    found_home(folder)
    custody, tables = Custody(folder), world.tables(baited=baited)
    for sheet in world.sheets:
        bounds = {field.name: (field.low, field.high) for field in sheet.of("real", "whole")}
        said = Declared(
            unit=world.unit,
            epsilon=10**30,
            delta="1e-3",
            max_rows=20,
            max_groups=20,
            bounds=bounds,
            keys={field.name: field.keys for field in sheet.of("key")},
        )
        custody.add(sheet.name, tables[sheet.name], said)
    custody.add(world.public, tables[world.public], Declared(public=True))


def share_salts(one: Path, two: Path) -> None:
    """Neighbours share their salts, which are drawn independently of the rows."""
    for file in sorted((one / "tables").glob("*.duckdb")):
        with duckdb.connect(str(file)) as ours, duckdb.connect(str(two / "tables" / file.name)) as theirs:
            if ours.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'salt'").fetchall():
                salt = ours.execute("SELECT salt FROM salt").fetchall()[0][0]
                theirs.execute("UPDATE salt SET salt = ?", [salt])


def grouped(rows: Sequence[Sequence[object]], keys: int) -> Cells:
    found = {tuple(row[:keys]): row[keys:] for row in rows}
    assert len(found) == len(rows), "a group is named twice"
    return found


@pytest.mark.parametrize("seed", FREE)
@pytest.mark.parametrize("place", PLACES)
def test_where_no_cap_binds_it_is_plain_duckdb(homes: Made, place: int, seed: int) -> None:
    home = homes(place)
    asked = sqlmaker.question(home.world, 1000 * place + seed)
    theirs = grouped(home.plain.execute(asked.sql).fetchall(), asked.keys)
    crowd = grouped(home.plain.execute(asked.crowd).fetchall(), asked.keys)
    ours = grouped(hospital.exactly(home.one, asked.sql), asked.keys)
    for group, (people,) in crowd.items():
        if asked.known or people >= CROWD:  # type: ignore[operator]  # a count is an int
            assert group in ours, (asked.sql, group)
    for group, cells in ours.items():
        expected = theirs.get(group)
        if expected is None:  # a declared key that no row has
            assert asked.known, (asked.sql, group)
            assert not any(cell for cell, reach in zip(cells, asked.reach, strict=True) if reach), asked.sql
        else:
            pairs = zip(cells, expected, asked.reach, strict=True)
            assert all(agree(*pair) for pair in pairs), (asked.sql, group, cells, expected)


def agree(ours: object, theirs: object, reach: int) -> bool:
    """Whether a cell is right. Of no rows SQL knows no sum; ours is 0, and a mean is then whatever the noise says."""
    if theirs is None:
        return not reach or not ours
    return hospital.same(ours, theirs)


@pytest.mark.parametrize("seed", CAPPED)
@pytest.mark.parametrize("place", PLACES)
def test_where_caps_bind_one_person_moves_no_more_than_they_say(homes: Made, place: int, seed: int) -> None:
    home = homes(place)
    asked = sqlmaker.question(home.world, 1000 * place + seed, bounded=True)
    one, more = (
        grouped(hospital.exactly(curator, asked.sql, max_rows=ROWS, max_groups=GROUPS), asked.keys)
        for curator in (home.one, home.more)
    )
    assert set(one) == set(more), asked.sql  # known keys are known
    moved = {
        group: [abs(float(str(b)) - float(str(a))) for a, b in zip(one[group], more[group], strict=True)]
        for group in one
    }
    assert sum(any(cells) for cells in moved.values()) <= GROUPS, asked.sql
    for number, reach in enumerate(asked.reach):
        assert sum(cells[number] for cells in moved.values()) <= ROWS * reach * (1 + hospital.EXACT), asked.sql


@pytest.mark.parametrize("seed", REFUSED)
@pytest.mark.parametrize("place", PLACES)
def test_what_must_be_refused_is_refused_and_costs_nothing(homes: Made, place: int, seed: int) -> None:
    home = homes(place)
    sql = sqlmaker.refused(home.world, len(REFUSED) * place + seed)
    before = SqliteLedger(home.folder / "one" / "ledger.db").books().size
    with pytest.raises(Refusal) as said:
        home.one.query(sql, epsilon=1)
    assert not isinstance(said.value, OverBudget)
    assert said.value.hint, sql
    with pytest.raises(Refusal) as again:
        home.more.query(sql, epsilon=1)
    assert str(again.value) == str(said.value)
    assert SqliteLedger(home.folder / "one" / "ledger.db").books().size == before


def test_the_generator_tries_every_source_and_every_mistake() -> None:
    tried = {(1000 * place + seed) % len(sqlmaker.SOURCES) for place in WORLDS[:QUICK] for seed in (*FREE, *CAPPED)}
    assert tried == set(range(len(sqlmaker.SOURCES)))
    world = sqlmaker.world(0)
    assert len({sqlmaker.refused(world, seed) for seed in REFUSED}) == len(REFUSED)
    assert sqlmaker.refused(world, len(REFUSED)).split()[:2] == sqlmaker.refused(world, 0).split()[:2]


@pytest.mark.parametrize("place", PLACES)
def test_every_question_of_the_generator_is_one_that_duckdb_answers(place: int) -> None:
    found, world = 0, sqlmaker.world(place)
    with hospital.plain(world.tables(), {}) as plain:
        for seed in (*FREE, *CAPPED):
            asked = sqlmaker.question(world, seed, bounded=seed in CAPPED)
            found += len(plain.execute(asked.sql).fetchall())
            plain.execute(asked.crowd).fetchall()
    assert found > len(FREE) + len(CAPPED)  # most have several groups
