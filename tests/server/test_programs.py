"""Clients that are no libraries of ours to install: node's pg, and the ODBC and JDBC drivers that Debian has.

Each lists tables and columns, asks with parameters and reads typed answers, from `discreet serve` as people run it.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import clinic
import pytest
from installed import missing, program
from server.served import served

from discreet.curator import Curator
from discreet.curator.custody import Custody

if TYPE_CHECKING:
    import pyodbc

COLUMNS = ["patient", "region", "diagnosis", "cost", "day", "urgent"]


@dataclass(frozen=True)
class Open:
    """Where the door is, who comes in, and what is behind it."""

    port: int
    token: str
    home: Path

    def paid(self) -> int:
        """How often something was paid."""
        return len(Curator(self.home).history(everybody=True))


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    home = clinic.home(tmp_path_factory.mktemp("clinic") / "home", epsilon=10**6)
    token = Custody(home).let_in("ana", "analyst")
    with served(home, doors=("pg",)) as server:
        yield Open(server.pg, token, home)


# node -----------------------------------------------------------------------------------------------------------------

SCRIPT = """
const { Client } = require('pg');
(async () => {
  const { PORT, TOKEN } = process.env;
  const client = new Client({ host: '127.0.0.1', port: +PORT, user: 'ana', password: TOKEN, database: 'any' });
  const notices = [];
  client.on('notice', (n) => notices.push(n.message));
  await client.connect();
  const where = "table_schema = 'public'";
  const tables = await client.query(`SELECT table_name FROM information_schema.tables WHERE ${where}`);
  const listed = `SELECT column_name FROM information_schema.columns WHERE ${where} AND table_name = $1`;
  const columns = await client.query(`${listed} ORDER BY ordinal_position`, ['visits']);
  const one = await client.query('SELECT count(*) AS n FROM visits WHERE cost > $1 AND region = $2', [10.5, 'north']);
  const text = 'SELECT region, avg(cost) AS a FROM visits WHERE day > $1 GROUP BY region';
  const two = await client.query({ name: 'p', text, values: [new Date(2024, 1, 1)] });
  const again = await client.query({ name: 'p', text, values: [new Date(2024, 1, 1)] });
  const constants = "TRUE AS b, 'x' AS t, NULL AS z, DATE '2024-02-29' AS d";
  const typed = await client.query(`SELECT count(*), ${constants} FROM visits`);
  let code = '';
  try { await client.query('SELECT cost FROM visits'); } catch (e) { code = e.code; }
  await client.end();
  console.log(JSON.stringify({
    tables: tables.rows.map((r) => r.table_name), columns: columns.rows.map((r) => r.column_name),
    n: one.rows[0].n, oids: two.fields.map((f) => f.dataTypeID), regions: two.rows.map((r) => r.region).sort(),
    numbers: two.rows.every((r) => typeof r.a === 'number'),
    same: JSON.stringify(two.rows) === JSON.stringify(again.rows),
    typed: typed.rows[0], day: typed.rows[0].d.getDate(), code, notices,
  }));
})().catch((e) => { console.error(e); process.exit(1); });
"""


def node() -> str:
    """The program, if it finds its library."""
    found = program("node", package="nodejs")
    if subprocess.run([found, "-e", "require('pg')"], capture_output=True, check=False).returncode:
        missing("node's pg", "npm install --prefix FOLDER pg, and name FOLDER/node_modules in NODE_PATH")
    return found


def test_node(door: Open) -> None:
    found = node()
    environment = {**os.environ, "PORT": str(door.port), "TOKEN": door.token}
    ran = subprocess.run(
        [found, "-e", SCRIPT], capture_output=True, text=True, env=environment, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert (told["tables"], told["columns"]) == (["visits"], COLUMNS)
    assert int(told["n"]) == float(told["n"])  # a bigint, which node reads as text
    assert (told["oids"], told["numbers"], told["regions"]) == ([25, 701], True, sorted(clinic.REGIONS))
    assert told["same"]
    typed = told["typed"]
    assert (list(typed), typed["b"], typed["t"], typed["z"], told["day"]) == (
        ["count", "b", "t", "z", "d"], True, "x", None, 29,
    )  # fmt: skip
    assert told["code"] == "42501"
    free = ["free:" in notice for notice in told["notices"]]
    assert free == [False, False, True, False]


# JDBC -----------------------------------------------------------------------------------------------------------------

JAR = Path("/usr/share/java/postgresql.jar")
ASKS = Path(__file__).with_name("Asks.java")


def java() -> list[str]:
    """The program that runs a source file, with the driver."""
    found = program("java", package="default-jdk-headless")
    program("javac", package="default-jdk-headless")  # the program compiles its source file with it
    if not JAR.exists():
        missing("the JDBC driver of Postgres", "apt-get install libpostgresql-jdbc-java")
    return [found, "-XX:TieredStopAtLevel=1", "-cp", str(JAR), str(ASKS)]


def test_jdbc(door: Open) -> None:
    """From a machine whose clock is in Berlin, which the driver tells with every day and moment."""
    environment = {**os.environ, "PORT": str(door.port), "TOKEN": door.token}
    ran = subprocess.run(java(), capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    told = dict(line.partition(" ")[::2] for line in ran.stdout.splitlines())
    keywords = told["keywords"].split(",")
    assert {"analyze", "ilike", "explain"} <= set(keywords)
    assert "select" not in keywords  # those of SQL:2003 are left out
    assert told["tables"].startswith("null|public|visits|TABLE|")
    kinds = zip(COLUMNS, ["int8", "text", "text", "float8", "date", "bool"], strict=True)
    assert told["columns"] == ",".join(f"{name}:{kind}" for name, kind in kinds)
    assert (told["primary"], told["foreign"], told["indices"]) == ("", "", "")
    assert told["first"] == told["seventh"]  # after five times the driver prepares it
    assert told["first"].startswith("int8 float8 ")
    assert len({told[name] for name in ("timestamp", "offset", "local", "day")}) == 1
    assert [row.partition("|")[0] for row in told["fetched"].split(";")] == sorted(clinic.REGIONS)
    assert told["executed"].isdigit()
    assert told["typed"].partition("|")[2] == "2024-02-29 12:30:00.0|2024-02-29|true|null|1.5"
    assert "price epsilon 7" in told["warned"]
    assert told["refused"] == "42501"


# ODBC -----------------------------------------------------------------------------------------------------------------


def driver() -> str:
    """The Unicode driver of Postgres, as the machine's own list names it."""
    try:
        import pyodbc  # noqa: PLC0415  # it needs libraries of the machine
    except ImportError:
        missing("unixODBC", "apt-get install unixodbc odbc-postgresql")
    listed = [name for name in pyodbc.drivers() if "postgres" in name.lower()]
    if not listed:
        missing("an ODBC driver for Postgres", "apt-get install unixodbc odbc-postgresql")
    return str(next((name for name in listed if "unicode" in name.lower()), listed[0]))


@pytest.fixture
def odbc(door: Open) -> Iterator[pyodbc.Connection]:
    words = {
        "Driver": f"{{{driver()}}}",
        "Server": "127.0.0.1",
        "Port": str(door.port),
        "Database": "discreet",
        "UID": "ana",
        "PWD": door.token,
        "SSLmode": "disable",
        "BoolsAsChar": "0",
        "CommLog": "0",  # else it leaves a file behind
        "Debug": "0",
    }
    import pyodbc  # noqa: PLC0415

    connection = pyodbc.connect(";".join(f"{key}={value}" for key, value in words.items()), autocommit=True)
    yield connection
    connection.close()


def test_odbc_lists_tables_and_columns(odbc: pyodbc.Connection) -> None:
    cursor = odbc.cursor()
    found = [(row.table_cat, row.table_schem, row.table_name, row.table_type) for row in cursor.tables()]
    assert found == [("discreet", "public", "visits", "TABLE")]
    columns = [(row.column_name, row.type_name) for row in cursor.columns(table="visits")]
    assert columns == list(zip(COLUMNS, ["int8", "text", "text", "float8", "date", "bool"], strict=True))
    assert cursor.primaryKeys(table="visits").fetchall() == []
    assert cursor.columns(table="nothing").fetchall() == []


def test_odbc_asks_with_parameters_and_reads_types(door: Open, odbc: pyodbc.Connection) -> None:
    cursor = odbc.cursor()
    cursor.execute("SET discreet.epsilon = 1")
    sql = (
        "SELECT count(*) AS n, sum(cost) AS s, 'north' AS t, DATE '2024-02-29' AS d, "
        "TIMESTAMP '2024-02-29 12:30:00' AS m, TRUE AS b, NULL AS z, 1.5 AS x FROM visits "
        "WHERE cost > ? AND region = ? AND day >= ? AND patient < ? AND urgent = ?"
    )
    values = (10.5, "north", dt.date(2024, 1, 1), 1000, False)
    ((n, s, *rest),) = cursor.execute(sql, values).fetchall()
    assert [(column[0], column[1]) for column in cursor.description][:2] == [("n", int), ("s", float)]
    assert (type(n), type(s)) == (int, float)
    moment = dt.datetime(2024, 2, 29, 12, 30)  # noqa: DTZ001  # TIMESTAMP has no zone
    assert rest == ["north", dt.date(2024, 2, 29), moment, True, None, Decimal("1.5")]
    before = door.paid()
    assert [tuple(row) for row in cursor.execute(sql, values)] == [(n, s, *rest)]
    assert door.paid() == before


def test_odbc_is_told_why_not(odbc: pyodbc.Connection) -> None:
    import pyodbc as library  # noqa: PLC0415

    with pytest.raises(library.Error, match="rows of people") as refused:
        odbc.cursor().execute("SELECT cost FROM visits")
    assert refused.value.args[0] == "42501"
