"""What a custodian declares, and what it never does: refill a budget."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import clinic
import pyarrow as pa
import pytest
from clinic import COUNT

from discreet.curator import Curator, Terms
from discreet.curator.custody import Custody, Declared, found_home
from discreet.errors import Refusal
from discreet.ledger import SqliteLedger, StoredAnswer
from discreet.privacy import Approximate


def test_update_and_remove_never_refill_a_budget(home: Path) -> None:
    Curator(home).query(COUNT, epsilon=1)
    Custody(home).update("visits", clinic.visits(10, seed=3))
    curator = Curator(home)
    assert curator.budget("patient").spent == Approximate(1)
    assert curator.query(COUNT, epsilon="0.5").cost == Approximate("0.5")  # other rows: another question
    Custody(home).remove("visits")
    Custody(home).add("visits", clinic.visits(10), clinic.declared(epsilon=2))
    assert Curator(home).budget("patient").spent == Approximate("1.5")
    with pytest.raises(Refusal, match="another budget"):
        Custody(home).add("more", clinic.visits(10), clinic.declared(epsilon=3))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"unit": "nobody"}, "no column 'nobody'"),
        ({"unit": None}, "--unit"),
        ({"epsilon": 0}, "epsilon=0"),
        ({"epsilon": None}, "epsilon or rho"),
        ({"delta": 1}, "delta=1"),
        ({"bounds": {"cost": (5, 5)}}, "low < high"),
        ({"bounds": {"region": (0, 1)}}, "only numbers"),
        ({"bounds": {"weight": (0, 1)}}, "no column 'weight'"),
        ({"keys": {"region": ["a", "a"]}}, "twice"),
        ({"keys": {"region": ["a", None]}}, "NULL as a key"),
        ({"types": {"cost": "money"}}, "no type 'money'"),
    ],
)
def test_wrong_declarations_are_refused_with_the_option_to_use(
    tmp_path: Path, changes: dict[str, object], complaint: str
) -> None:
    found_home(tmp_path / "home")
    with pytest.raises(Refusal, match=complaint):
        Custody(tmp_path / "home").add("visits", clinic.visits(5), clinic.declared(**changes))
    assert SqliteLedger(tmp_path / "home" / "ledger.db").books().size == 0


def test_csv_types_must_be_declared_and_the_proposal_works(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("id,age,name\n1,40,ann\n2,x,bob\n,50,cy\n", encoding="utf-8")
    found_home(tmp_path / "home")
    custody = Custody(tmp_path / "home")
    said = Declared(unit="id", epsilon=10**6, max_rows=1, bounds={"age": (0, 100)})
    with pytest.raises(Refusal, match="--types id=bigint"):
        custody.add("people", path, said)
    types = {"id": "bigint", "age": "bigint", "name": "varchar"}
    custody.add("people", path, replace(said, types=types))
    found = Curator(tmp_path / "home").query(
        "SELECT count(*), sum(age) FROM people", epsilon=10**6
    )  # no noise but for e^-1000
    assert found.rows == ((2, 40),)  # the row without a unit is dropped, 'x' is NULL


@pytest.mark.parametrize("missing", ["NA", "", "N/A", "NULL", "-", "?"])
def test_what_stands_for_a_missing_number_does_not_make_a_column_text(tmp_path: Path, missing: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"id,age,weight,born,name\n1,40,{missing},2001-02-03,{missing}\n2,{missing},7.5,{missing},bo\n")
    found_home(tmp_path / "home")
    proposed = "id=bigint --types age=bigint --types weight=double --types born=date --types name=varchar"
    with pytest.raises(Refusal, match=proposed):
        Custody(tmp_path / "home").add("people", path, Declared(unit="id", epsilon=1, max_rows=1))


def test_the_home_is_its_owner_s_alone(home: Path) -> None:
    Curator(home).query(COUNT, epsilon=1)
    for path in [home, *home.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path.name


def test_a_home_in_a_folder_that_was_open_to_others_is_not(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there").chmod(0o755)
    found_home(tmp_path / "there")
    assert (tmp_path / "there").stat().st_mode & 0o777 == 0o700


def test_public_tables_are_free_and_join_with_answers(home: Path) -> None:
    wards = pa.table({"region": ["north", "south", "east"], "beds": [10, 20, 30]})
    Custody(home).add("wards", wards, Declared(public=True))
    curator = Curator(home)
    assert curator.query("SELECT sum(beds) FROM wards").cost is None
    found = curator.query(
        "SELECT w.region, n / beds FROM (SELECT region, count(*) AS n FROM visits GROUP BY region) v "
        "JOIN wards w ON w.region = v.region ORDER BY 1",
        epsilon=1,
    )
    assert [row[0] for row in found.rows] == ["east", "north", "south"]


def test_answers_travel_as_arrow_and_frames(home: Path) -> None:
    found = Curator(home).query("SELECT region, count(*) AS n, avg(cost) AS a FROM visits GROUP BY region", epsilon=1)
    assert [str(field.type) for field in found.to_arrow().schema] == ["string", "int64", "double"]
    assert list(found.to_pandas().columns) == ["region", "n", "a"]
    assert found.to_polars().shape == (3, 3)
    assert len(found.plot().axes[0].patches) == 3
    assert "Values of cost below 0 count as 0, and above 1000 as 1000." in found.bounding


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("version = 1\n[table.x\n", "line 2"),
        ("version = 2\n", "version = 1"),
        ("version = 1\n[tabel.x]\n", "tabel"),
        ('version = 1\n[table.x]\nunit = "row"\n', "population"),
        ('version = 1\n[table.x]\npopulation = "p"\nunit = "row"\n', "not declared"),
        ('version = 1\n[population.p]\nepsilon = "-1"\n', "epsilon=-1"),
    ],
)
def test_bad_toml_is_refused_with_its_place(home: Path, text: str, complaint: str) -> None:
    (home / "discreet.toml").write_text(text, encoding="utf-8")
    with pytest.raises(Refusal, match=complaint):
        Curator(home)


def test_what_is_stored_of_an_answer_is_what_was_said(home: Path) -> None:
    found = Curator(home).query("SELECT region, count(*) FROM visits GROUP BY region", epsilon=1)
    events = [entry.event for entry in SqliteLedger(home / "ledger.db").entries()]
    stored = next(event for event in events if isinstance(event, StoredAnswer)).answer
    assert isinstance(stored, dict)
    pairs = zip(stored["groups"], stored["values"], strict=True)  # type: ignore[arg-type]
    assert {(group[0], int(value[0])) for group, value in pairs} == set(found.rows)  # type: ignore[index,arg-type]
    assert json.dumps(stored)
    assert Terms().confidence == Fraction(95, 100)
