"""What a third attack found: files in others' places, edited links and types, names like ours, work without end."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import clinic
import hospital
import pyarrow as pa
import pytest
import template

from discreet.curator import Curator, Terms
from discreet.curator.custody import Custody, Declared, found_home
from discreet.errors import Refusal
from discreet.privacy import Approximate
from discreet.sql.cell_numbers import BoundedRows
from discreet.sql.owned_rows import Capped, Filter, Joined, Kept, Project, Rows, below
from discreet.sql.split_at_noise import rows_of

PUBLIC = pa.table({"diagnosis": ["d0", "d1"], "patient": [1, 2], "cost": [1.0, 2.0]})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", epsilon=10**9)


def edited(home: Path, old: str, new: str) -> None:
    file = home / "discreet.toml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_a_mechanism_sees_a_unit_s_rows_under_its_cap_whatever_columns_are_called(tmp_path: Path) -> None:
    found_home(tmp_path / "home")
    rows = pa.table({"who": [1] * 1000 + [2], "u": list(range(1001)), "key_0": ["a"] * 1001, "x0": [1] * 1001})
    said = Declared(unit="who", epsilon=10**30, max_rows=1, bounds={"u": (0, 9), "x0": (0, 9)}, keys={"key_0": ["a"]})
    Custody(tmp_path / "home").add("t", rows, said)
    curator = Curator(tmp_path / "home")
    schema = curator._catalogue.schema
    for sql in ("SELECT u FROM t", "SELECT x0 AS u FROM t", "SELECT u, key_0, x0 FROM t"):
        assert len(curator._store.rows(BoundedRows(rows_of(sql, schema), 1))) == 2
    sql = "SELECT key_0, count(*), sum(x0), sum(u), count(DISTINCT u) FROM t GROUP BY key_0"
    ((key, number, ones, _, different),) = hospital.exactly(curator, sql)
    assert (key, number) == ("a", 2)
    assert (ones, different) == (2.0, 2)


@pytest.mark.parametrize(
    "sql",
    [
        """SELECT k.d, count(v.patient) FROM (SELECT DISTINCT diagnosis || '' AS d FROM pub) k
           LEFT JOIN visits v ON v.diagnosis = k.d GROUP BY k.d""",
        "SELECT w.diagnosis, count(v.patient) FROM pub w LEFT JOIN visits v ON v.diagnosis = w.diagnosis GROUP BY 1",
        "SELECT count(*) FROM visits WHERE diagnosis IN (SELECT diagnosis FROM pub)",
        "SELECT * FROM pub",
    ],
)
def test_a_private_file_in_a_public_place_is_never_read(home: Path, sql: str) -> None:
    Custody(home).add("pub", PUBLIC, Declared(public=True))
    tables = home / "tables"
    shutil.copy(next(tables.glob("visits.*.duckdb")), next(tables.glob("pub.*.duckdb")))
    with pytest.raises(Refusal, match="not the one that the ledger knows"):
        Curator(home).query(sql, epsilon=1)


def test_a_file_under_a_version_that_the_ledger_left_behind_is_never_read(home: Path) -> None:
    custody = Custody(home)
    custody.add("pub", PUBLIC, Declared(public=True))
    custody.update("pub", PUBLIC)
    edited(home, "[table.pub]\nversion = 2", "[table.pub]\nversion = 1")
    tables = home / "tables"
    shutil.copy(next(tables.glob("visits.*.duckdb")), tables / "pub.1.duckdb")
    with pytest.raises(Refusal):
        Curator(home).query("SELECT * FROM pub")


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    return template.home(tmp_path / "linked", make_linked, "a link to bend")


def make_linked(home: Path) -> None:
    found_home(home)
    custody = Custody(home)
    people = pa.table({"id": [1, 2, 3], "patient": [10, 20, 30]})
    custody.add("seen", people, Declared(unit="patient", epsilon=5, max_rows=9))
    custody.add("staff", people, Declared(unit="patient", population="employees", epsilon=5, max_rows=9))
    custody.add("anyone", people, Declared(public=True))
    bills = pa.table({"visit": [1, 1, 2], "amount": [1.0, 2.0, 3.0]})
    custody.add("bills", bills, Declared(link={"visit": "seen.id"}, max_rows=9, bounds={"amount": (0, 9)}))


@pytest.mark.parametrize("target", ["staff.id", "anyone.id", "bills.visit", "seen.patient2", "nowhere.id"])
def test_a_link_is_not_bent(linked: Path, target: str) -> None:
    edited(linked, 'link = "visit=seen.id"', f'link = "visit={target}"')
    with pytest.raises(Refusal):
        Curator(linked)
    with pytest.raises(Refusal):
        Custody(linked).update("bills", pa.table({"visit": [1], "amount": [1.0]}))


def test_a_link_that_compares_another_column_is_refused(linked: Path) -> None:
    edited(linked, 'link = "visit=seen.id"', 'link = "amount=seen.id"')
    with pytest.raises(Refusal, match="disagree about the link of table 'bills'"):
        Curator(linked)


@pytest.mark.parametrize("kind", ["bigint", "date", "boolean"])
def test_a_type_that_the_rows_do_not_have_is_refused_before_it_is_paid(home: Path, kind: str) -> None:
    edited(
        home, '[table.visits.columns.diagnosis]\ntype = "varchar"', f'[table.visits.columns.diagnosis]\ntype = "{kind}"'
    )
    curator = Curator(home)
    with pytest.raises(Refusal, match="in its rows"):
        curator.query("SELECT count(diagnosis) FROM visits", epsilon=1)
    assert curator.budget("patient").spent == Approximate(0, 0)


def test_people_have_names_of_one_type_in_all_tables(home: Path) -> None:
    with pytest.raises(Refusal, match="alike"):
        Custody(home).add("texts", pa.table({"patient": ["1", "zz"]}), Declared(unit="patient", max_rows=1))


WORK = [
    """SELECT count(*) FROM (SELECT DISTINCT patient, cost FROM visits) a
       JOIN (SELECT DISTINCT patient, cost FROM visits) b ON a.patient = b.patient""",
    """SELECT count(*) FROM visits a WHERE EXISTS
       (SELECT 1 FROM visits b WHERE b.patient = a.patient AND b.cost + a.cost < 0)""",
    """SELECT count(*) FROM visits a WHERE NOT EXISTS
       (SELECT 1 FROM visits b WHERE b.patient = a.patient AND b.diagnosis < a.diagnosis || 'z')""",
]


@pytest.mark.parametrize("sql", WORK)
def test_one_person_s_rows_never_make_an_answer_endless(tmp_path: Path, sql: str) -> None:
    """Of a hundred thousand rows of one person, ten thousand million pairs would be compared without a cap."""
    day = clinic.START
    rows = [(1, "north", f"d{i}", float(i % 999), day, True) for i in range(2000)]
    curator = Curator(clinic.home(tmp_path / "home", clinic.table(rows), epsilon=10**30, max_rows=2))
    (part,) = curator._question(sql, Terms()).parts
    (pairs,) = [each for each in _every(part.measurement.rows) if isinstance(each, (Joined, Kept))]
    assert [_most(side) for side in below(pairs)] == [2, 2]
    ((number,),) = hospital.exactly(curator, sql)
    assert 0 <= int(str(number)) <= 4


def _every(rows: Rows) -> Iterator[Rows]:
    yield rows
    for source in below(rows):
        yield from _every(source)


def _most(side: Rows) -> int | None:
    """How many rows of one person come out of a side of a join."""
    while isinstance(side, (Project, Filter)):
        side = side.source
    return side.most if isinstance(side, Capped) else None
