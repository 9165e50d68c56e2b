"""Everyday questions about a table with capitals, blanks and signs in its names, by Python and by the command line."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import duckdb
import hospital
import people
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import discreet as dp
from discreet.cli.commands import app
from discreet.curator import Curator
from discreet.curator.catalogue import read
from discreet.curator.custody import Custody, Declared
from discreet.desk import HOME, Desk, ReleaseOrder
from discreet.errors import Refusal
from discreet.ledger import SqliteLedger
from discreet.release import Wish

QUESTIONS = [  # as they are asked of such a table, with and without quotes
    "SELECT sex, count(*) AS n, avg(age) AS age FROM people WHERE sex IS NOT NULL GROUP BY sex ORDER BY sex",
    'SELECT "Marital Status", avg("Hours per week") FROM People GROUP BY "Marital Status" ORDER BY 1',
    'SELECT "income>50K", count(*) AS N FROM people GROUP BY 1 ORDER BY "income>50K"',
    "SELECT avg(CASE WHEN \"income>50K\" THEN 1.0 ELSE 0 END) FROM people WHERE Sex = 'Male'",
    "SELECT avg(größe), stddev_pop(Age), sum(\"Order\") FROM people WHERE born < DATE '1960-01-01'",
    'SELECT p."Order", count(*) FROM people AS p GROUP BY p."Order" ORDER BY p."Order"',
    "SELECT sex, sum(Cost) FROM people p JOIN visits v ON p.id = v.id WHERE sex IS NOT NULL GROUP BY 1 ORDER BY 1",
    "SELECT count(*) FROM People p WHERE EXISTS (SELECT 1 FROM Visits v WHERE v.id = p.id AND v.cost > 50)",
    "SELECT avg(Total) FROM (SELECT ID, sum(cost) AS Total FROM visits GROUP BY id) AS t",
    'WITH Old AS (SELECT * FROM people WHERE AGE >= 65) SELECT avg(H) FROM (SELECT "Hours per week" AS H FROM old)',
    "SELECT w.ward, count(v.id) FROM wards w LEFT JOIN visits v ON w.ward = v.ward GROUP BY w.ward ORDER BY w.ward",
    "SELECT Ward, Beds FROM Wards WHERE BEDS > 10 ORDER BY beds DESC",
]


def plain() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("People", people.people())
    connection.register("Visits", people.visits())
    connection.register("Wards", pa.table({"Ward": ["a", "b", "c"], "Beds": [10, 20, 30]}))
    return connection


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return people.home(tmp_path_factory.mktemp("capitals") / "home")


def run(home: Path, *words: str) -> Result:
    return CliRunner().invoke(app, [*words, "--home", str(home)])


@pytest.mark.parametrize("sql", QUESTIONS)
def test_the_answer_is_that_of_an_engine_without_noise(home: Path, sql: str) -> None:
    with plain() as engine:
        theirs = engine.execute(sql).fetchall()
    assert not hospital.unlike(hospital.exactly(Curator(home), sql), theirs)


def test_names_are_declared_as_the_source_spells_them(home: Path) -> None:
    table = read(home).tables["People"]
    assert [column.name for column in table.columns] == people.people().column_names
    assert table.unit == "Id"
    assert table.column("größe").bounds == (Fraction(1), Fraction(3))
    assert table.column("Marital Status").keys == people.STATUS
    assert '[table.People.columns."Marital Status"]' in (home / "discreet.toml").read_text()


def test_python_and_the_command_line_give_the_same_names(home: Path) -> None:
    sql = 'SELECT SEX, "Marital Status", count(*) AS Many FROM people GROUP BY 1, 2'
    assert dp.open(home).query(sql, epsilon=1).columns == ("Sex", "Marital Status", "many")
    said = run(home, "query", sql, "--epsilon", "1", "--format", "csv")
    assert said.stdout.splitlines()[0].startswith("Sex,Marital Status,many")
    assert run(home, "explain", sql, "--epsilon", "1").exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("tables", "people"),
        ("bounds", "PEOPLE", "age", "--epsilon", "1"),
        ("bounds", "people", "hours PER week", "--epsilon", "1"),
        ("caps", "visits", "--epsilon", "1"),
    ],
)
def test_every_command_finds_them(home: Path, words: tuple[str, ...]) -> None:
    assert run(home, *words).exit_code == 0


def test_a_release_is_of_the_declared_columns(home: Path, tmp_path: Path) -> None:
    for number, columns in enumerate(("sex,marital status", '"Sex","Marital Status"')):
        out = tmp_path / str(number)
        done = run(home, "release", "marginals", "people", "--columns", columns, "--epsilon", "1", "--out", str(out))
        assert done.exit_code == 0, done.output
        certificate = json.loads((out / "certificate.json").read_text())
        assert [axis["column"] for axis in certificate["axes"]] == ["Sex", "Marital Status"]
    assert "already" in done.output or "free" in done.output or "before" in done.output  # it was paid for once
    selected = "SELECT age, \"Hours per week\" AS h FROM people WHERE sex = 'Male'"
    order = ReleaseOrder.of(selected, Wish.of("histogram", ("AGE",), epsilon="1", bins={"age": 10}))
    assert Desk(home).published(HOME, order).name == "histogram of Age"


def test_a_grant_holds_the_declared_name(home: Path) -> None:
    Custody(home).let_in("ann", "analyst", tables=["visits"])
    (grant,) = [each for each in Curator(home).grants() if each.principal == "ann"]
    assert grant.tables == ["Visits"]
    ann = Curator(home, principal="ann")
    assert ann.query("SELECT count(*) FROM VISITS", epsilon=1).rows
    with pytest.raises(Refusal, match="there is no table 'people'"):
        ann.query("SELECT count(*) FROM people", epsilon=1)


def test_a_link_is_declared_in_any_case(tmp_path: Path) -> None:
    made = people.home(tmp_path / "home")
    lines = pa.table({"Visitor": [1, 2, 3], "Price": [1, 2, 3]})
    said = Declared(link={"VISITOR": "people.id"}, max_rows=5, bounds={"price": (0, 9)}, types={})
    table = Custody(made).add("Lines", lines, said)
    assert table.link == ("Visitor", "People", "Id")
    assert table.unit == "Id"
    sql = "SELECT sum(price) FROM (SELECT l.*, p.age, p.id FROM people p JOIN lines l ON l.visitor = p.id) t"
    assert hospital.exactly(Curator(made), sql) == [(6.0,)]


@pytest.mark.parametrize("kind", ["arrow", "csv", "parquet"])
def test_two_columns_alike_but_for_case_are_not_added(home: Path, tmp_path: Path, kind: str) -> None:
    table = pa.table({"Id": [1], "age": [1], "Age": [2]})
    (tmp_path / "t.csv").write_text("Id,age,Age\n1,1,2\n")
    pq.write_table(table, tmp_path / "t.parquet")
    source: object = table if kind == "arrow" else tmp_path / f"t.{kind}"
    with pytest.raises(Refusal, match="'age' and 'Age', the same but for upper and lower case"):
        Custody(home).rehearse("more", source, Declared(unit="id", population="Id"))


def test_removing_and_updating_find_their_table(tmp_path: Path) -> None:
    made = people.home(tmp_path / "home")
    assert Custody(made).update("visits", people.visits()).version == 2
    Custody(made).remove("VISITS")
    assert sorted(read(made).tables) == ["People", "Wards"]
    assert SqliteLedger(made / "ledger.db").books().datasets["Visits"].version == 3
    with pytest.raises(Refusal, match="there is no table 'visits'"):
        Curator(made).query("SELECT count(*) FROM visits", epsilon=1)


def test_a_csv_file_is_proposed_types_that_a_shell_understands(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("Id,Hours per week,income>50K\n1,40,true\n")
    CliRunner().invoke(app, ["init", str(tmp_path / "home")])
    said = run(tmp_path / "home", "add", "people", str(tmp_path / "p.csv"), "--unit", "id", "--epsilon", "1")
    assert "--types 'Hours per week=bigint' --types 'income>50K=boolean'" in str(said.exception)
