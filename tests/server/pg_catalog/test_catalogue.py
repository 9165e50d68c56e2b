"""The catalogue says what is declared, to whom it concerns, and nothing that rows would tell."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import clinic
import duckdb
import pytest
from server.pg_catalog.compare import ANN
from server.pg_catalog.public import BILLS, ODD, TABLES, Board, catalogue

from discreet.curator.custody import Custody
from discreet.desk import Desk, Visitor
from discreet.errors import Exceeded, Refusal
from discreet.lru_cache import LruCache
from discreet.server.pg_catalog import PostgresCatalogue, database
from discreet.server.pg_catalog.catalogue import DATABASES, ShownNumber, Vector
from discreet.server.pg_catalog.types import facts

FOLDER = Path(__file__).parent
QUESTIONS = json.loads((FOLDER / "sent.json").read_text(encoding="utf-8"))
SENT = [entry["sql"] for entry in QUESTIONS]
ASKED = (FOLDER / "asked.sql").read_text(encoding="utf-8").split(";\n")[:-1]
NAMES = "SELECT relname FROM pg_class WHERE relnamespace = 2200 ORDER BY 1"
SHARED = catalogue()


def cells(sql: str, found: PostgresCatalogue = SHARED) -> list[object]:
    """What one row holds."""
    _, rows = found.answer(ANN, sql)
    (row,) = rows
    return list(row)


def filled(text: str, visits: int = 16390) -> str:
    """With the numbers of tables: three for each, in the order of their names."""
    return text.replace("{visits}", str(visits)).replace("{wards}", str(visits + 3))


def listed(found: PostgresCatalogue, visitor: Visitor = ANN) -> list[object]:
    return [name for (name,) in found.answer(visitor, NAMES)[1]]


# what it is asked -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sql",
    [
        *SENT,
        *ASKED,
        "SELECT 1",
        "select Version()",
        "SELECT set_config('jit', 'off', false)",
        "SELECT current_setting('server_version'), pg_backend_pid()",
        "SELECT * FROM PG_CLASS",
        'SELECT * FROM "pg_catalog"."pg_class"',
        "TABLE pg_am",
        "WITH visits AS (SELECT 1 AS x) SELECT x FROM visits",
        "SELECT nonsense(oid) FROM pg_class",  # refused here, where the reason is known
    ],
)
def test_it_handles(sql: str) -> None:
    assert SHARED.handles(ANN, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "not SQL",
        "SELECT 'half",
        "SELECT 1; SELECT 2",
        "SELECT count(*) FROM visits",
        "SELECT count(*) FROM public.visits",
        "SELECT count(*) FROM visits, pg_class",
        "SELECT (SELECT count(*) FROM visits) FROM pg_class",
        "SELECT relname FROM pg_class WHERE oid IN (SELECT patient FROM visits)",
        "SELECT * FROM pg_class JOIN LATERAL (SELECT * FROM visits) v ON true",
        "WITH pg_class AS (SELECT * FROM visits) SELECT * FROM pg_class",
        "SELECT * FROM information_schema.nothing",
        "SELECT * FROM tables",
        'SELECT * FROM "PG_CLASS"',
        "SELECT nonsense()",
        "SELECT * FROM duckdb_tables()",
        "SELECT * FROM read_csv('x.csv')",
        "SELECT * FROM 'x.csv'",
        "SHOW server_version",
        "BEGIN",
        "DELETE FROM pg_class",
        "SET x = 1",
        "COPY (SELECT 1) TO STDOUT",
        "EXPLAIN SELECT 1",
    ],
)
def test_it_leaves_to_others(sql: str) -> None:
    assert not SHARED.handles(ANN, sql)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT count(*) FROM visits, pg_class", "'visits' is not in the catalogue"),
        ("SELECT nonsense(oid) FROM pg_class", "the catalogue has no function 'nonsense'"),
        ("SELECT nothing FROM pg_class", "the catalogue has no column 'nothing' here"),
        ("SELECT c.nothing FROM pg_class c", "the catalogue has no column 'c.nothing' here"),
        ("SELECT relname::nothing FROM pg_class", "the catalogue has no type 'nothing'"),
        ("SELECT relname FROM pg_class TABLESAMPLE BERNOULLI (1)", "the catalogue does not answer SAMPLE in a query"),
        ("SELECT relname INTO x FROM pg_class", "the catalogue does not answer INTO in a query"),
        ("DELETE FROM pg_class", "the catalogue answers one SELECT at a time"),
        ("SELECT 1; SELECT 2", "the catalogue answers one SELECT at a time, got 2"),
        ("SELECT", "a question about the catalogue asks for at least one column"),
        ("SELECT FROM WHERE", "this is not SQL as Postgres would read it"),
        ("SELECT '{1,{2}}'::int[]", "an array is written {a,b}, got '{1,{2}}'"),
        ("SELECT 'nothing'::regclass", "there is no table 'nothing'"),
        ("SELECT 1 < ANY(ARRAY[1])", "the catalogue answers = ANY(…) and <> ALL(…) only, got 1 < ANY(ARRAY[1])"),
        ("SELECT $1", "parameter 1 has no value; 0 were given"),
        ("SELECT $0", "a parameter is $1 to $1000, got '0'"),
        ("SELECT json_agg(1) -> 'a'", "the catalogue does not answer JSON_AGG(1) -> 'a'"),
        ("SELECT 1 UNION SELECT 1, 2", "the parts of a UNION have 1 and 2 columns"),
        (
            "SELECT format('%5s', 1)",
            "the catalogue answers format() with %s, %I and %L only, one for each argument, got '%5s'",
        ),
        (f"SELECT {'(' * 5000}1{')' * 5000}", "this question is nested too deeply"),
        (f"SELECT '{'x' * 50_000}'", "a question about the catalogue has at most 40000 characters, got 50009"),
        # Whatever the database would say of these stays with it.
        ("SELECT relname + 1 FROM pg_class", "the catalogue cannot answer this"),
        ("SELECT 'a'::int", "the catalogue cannot answer this"),
        ("SELECT (SELECT relname FROM pg_class)", "the catalogue cannot answer this"),
        ("SELECT relname, count(*) FROM pg_class", "the catalogue cannot answer this"),
        ("SELECT format_type(1)", "the catalogue cannot answer this"),
    ],
)
def test_it_refuses(sql: str, message: str) -> None:
    with pytest.raises(Refusal) as refused:
        SHARED.answer(ANN, sql)
    assert refused.value.message == message
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


# what it tells --------------------------------------------------------------------------------------------------------


def test_declarations_are_comments() -> None:
    sql = """SELECT c.relname || coalesce('.' || a.attname, ''), d.description FROM pg_description d
        JOIN pg_class c ON c.oid = d.objoid
        LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid AND d.objsubid > 0"""
    told = {str(name): said for name, said in SHARED.answer(ANN, sql)[1]}
    assert told == {
        "visits": "private, population patient; unit patient; at most 20 rows a unit; at most 3 groups a unit",
        "visits.patient": "the unit",
        "visits.region": "keys north, south, east",
        "visits.cost": "bounds 0 to 1000; step 0.01",
        "wards": "public",
        "bills": "private, population patient; unit row; at most 1 groups a unit; visit leads to visits.patient",
        "bills.paid": "euro; bounds 0 to 99; step 0.01",
        "Odd Name": "private, population odd; unit row; at most 5 rows a unit; at most 2 groups a unit",
        "Odd Name.Key": 'keys a, say "b", NULL',
        "Odd Name.at": "it's when",
        "Odd Name.select": "bounds 1/3 to 10",
    }


def test_a_long_list_of_keys_is_cut() -> None:
    column = replace(ODD.columns[0], keys=tuple(f"k{i}" for i in range(300)))
    found = catalogue([replace(ODD, columns=(column,))])
    (said,) = cells("SELECT description FROM pg_description WHERE objsubid = 1", found)
    assert str(said).startswith("keys k0, k1, ")
    assert str(said).endswith(", k19, … 300 in all")


def test_numbers_that_have_names_are_both() -> None:
    kind, arguments = cells("SELECT prorettype::regtype, proargtypes FROM pg_proc WHERE proname = 'array_in'")
    assert isinstance(kind, ShownNumber)
    assert (int(kind), str(kind), f"{kind}") == (2277, "anyarray", "anyarray")
    assert isinstance(arguments, Vector)
    assert (list(arguments), str(arguments)) == ([2275, 26, 23], "2275 26 23")


def test_names_of_nothing_have_no_number() -> None:
    assert cells("SELECT to_regclass('nothing'), '-'::regproc::oid, 'nothing'::regproc") == [None, 0, None]
    assert cells("SELECT 'ann'::regrole::oid, 'pg_monitor'::regrole::oid") == [16383, 3373]


def test_it_knows_who_asks() -> None:
    sql = "SELECT current_user, session_user, (SELECT count(*) FROM pg_roles WHERE rolname = $1)"
    for name in ("ann", "bob", 'o\'hara "x"'):
        assert SHARED.answer(Visitor(name, "analyst"), sql, [name])[1] == [(name, name, 1)]


def test_it_gives_the_time() -> None:
    first, second = cells("SELECT now(), current_timestamp"), cells("SELECT now(), current_timestamp")
    assert first[0] == first[1]
    assert first[0] < second[0]  # type: ignore[operator]
    assert first[0].utcoffset().total_seconds() == 0  # type: ignore[attr-defined]


def test_rows_come_in_the_order_of_declarations() -> None:
    by_column = (
        "SELECT attname FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid WHERE relname = 'visits' AND attnum > 0"
    )
    names = [column.name for column in TABLES[0].columns]
    assert [name for (name,) in SHARED.answer(ANN, by_column)[1]] == names
    found = SHARED.answer(ANN, "SELECT column_name FROM information_schema.columns WHERE table_name = 'visits'")[1]
    assert [name for (name,) in found] == names


def test_an_answer_belongs_to_who_asked_for_it() -> None:
    _, rows = SHARED.answer(ANN, "SELECT 1")
    rows.clear()
    assert SHARED.answer(ANN, "SELECT 1")[1] == [(1,)]


@pytest.mark.parametrize("sent", QUESTIONS, ids=lambda sent: f"{sent['client']}: {sent['sql'][:40]}")
def test_a_description_is_what_the_answer_has(sent: dict[str, str]) -> None:
    values = [filled(value) for value in sent.get("values", [])]
    parameters, columns = SHARED.described(ANN, filled(sent["sql"]))
    assert len(parameters) == len(values)
    assert SHARED.answer(ANN, filled(sent["sql"]), values)[0] == columns


# who sees what --------------------------------------------------------------------------------------------------------


def test_a_visitor_sees_what_was_granted(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home")
    custody = Custody(home)
    custody.add("other", clinic.visits(), clinic.declared())
    custody.let_in("ann", "analyst", tables=["other"])
    custody.let_in("bob", "analyst")
    desk = Desk(home)
    found = PostgresCatalogue(desk)
    assert listed(found, desk.visitor("ann")) == ["other"]
    assert listed(found, desk.visitor("bob")) == ["other", "visits"]
    for sql in (
        "SELECT count(*) FROM pg_attribute WHERE attrelid >= 16384 AND attname = 'cost'",
        "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'",
        "SELECT count(*) FROM pg_description WHERE objsubid = 0",
        "SELECT count(*) FROM pg_type WHERE typtype = 'c' AND typnamespace = 2200",
        "SELECT count(*) FROM pg_stat_user_tables",
    ):
        assert [found.answer(desk.visitor(name), sql)[1] for name in ("ann", "bob")] == [[(1,)], [(2,)]]
    assert found.answer(desk.visitor("ann"), "SELECT to_regclass('visits')")[1] == [(None,)]
    with pytest.raises(Refusal, match="there is no table 'visits'"):
        found.answer(desk.visitor("ann"), "SELECT 'visits'::regclass")
    assert found.answer(desk.visitor("bob"), "SELECT 'visits'::regclass::text")[1] == [("visits",)]


def test_it_follows_what_changes() -> None:
    board = Board([BILLS])
    found = PostgresCatalogue(board)  # type: ignore[arg-type]
    assert listed(found) == ["bills"]
    board.shown = [BILLS, ODD]
    assert listed(found) == ["Odd Name", "bills"]
    board.shown = [replace(BILLS, columns=(replace(BILLS.columns[0], description="told later"),))]
    assert cells("SELECT col_description('bills'::regclass, 1)", found) == ["told later"]


def test_databases_are_kept_up_to_a_number() -> None:
    kept: LruCache[int, str] = LruCache(2)
    made = [kept.made(key, lambda key=key: f"made {key}") for key in (1, 2, 1, 3)]  # type: ignore[misc]
    assert made == ["made 1", "made 2", "made 1", "made 3"]
    assert [kept.get(key) for key in (1, 2, 3)] == ["made 1", None, "made 3"]
    assert DATABASES < 100


# what it keeps to itself ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Desk]:
    """Two homes with the same declarations, and few rows in one, many in the other."""
    few = [(1, "north", "d1", 1.0, clinic.START, True)]
    many = [(7_654_321 + i, f"canary{i}", "canary", 123.456, clinic.START, False) for i in range(4321)]
    folder = tmp_path_factory.mktemp("desks")
    found = []
    for name, rows in (("few", few), ("many", many)):
        home = clinic.home(folder / name, clinic.table(rows))
        Custody(home).let_in("ann", "analyst")
        found.append(Desk(home))
    return found[0], found[1]


@pytest.mark.parametrize(
    "asked",
    [  # whatever is asked is answered from everything
        "for everything",
        pytest.param("by clients", marks=pytest.mark.slow),
        pytest.param("by people", marks=pytest.mark.slow),
    ],
)
def test_every_answer_is_the_same_whatever_the_rows_are(desks: tuple[Desk, Desk], asked: str) -> None:
    first, second = (PostgresCatalogue(desk) for desk in desks)
    questions: dict[str, list[tuple[str, list[str]]]] = {
        "by clients": [(sent["sql"], [filled(value, 16384) for value in sent.get("values", [])]) for sent in QUESTIONS],
        "by people": [(sql, []) for sql in ASKED],
        "for everything": [(f"SELECT * FROM {schema}.{name}", []) for schema, name in facts().relations],
    }
    for sql, values in questions[asked]:
        one = first.answer(desks[0].visitor("ann"), filled(sql, 16384), values)
        other = second.answer(desks[1].visitor("ann"), filled(sql, 16384), values)
        assert one == other
        for told in ("canary", "7654321", "4321", "123.456"):
            assert told not in str(other)


def test_the_database_is_locked() -> None:
    found = database.CatalogueDatabase(TABLES)
    for statement in (
        "SELECT * FROM read_csv('x.csv')",
        "SELECT * FROM read_text('x')",
        "ATTACH 'x.duckdb'",
        "COPY (SELECT 1) TO 'x.csv'",
        "INSTALL httpfs",
        "SET threads = 4",
        "SET enable_external_access = true",
    ):
        with pytest.raises(duckdb.Error):
            found._connection.execute(statement)
    with pytest.raises(Refusal, match="cannot answer"):
        found.ask("CREATE TABLE x (y INTEGER)", "ann")
    with pytest.raises(Refusal, match="cannot answer"):
        found.ask("SELECT 1; SELECT 2", "ann")
    assert found.ask("SELECT current_setting('threads'), current_setting('memory_limit')", "ann") == [(1, "122.0 MiB")]


def test_what_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LONGEST", 0.2)
    with pytest.raises(Exceeded):
        SHARED.answer(
            ANN, "SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c WHERE a.attname < b.attname"
        )
    assert cells("SELECT 'on'") == ["on"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM generate_series(1, 100000000000)",
        "SELECT a.attname FROM pg_attribute a, pg_attribute b",
        "SELECT (SELECT string_agg(attname, '') FROM pg_attribute) FROM generate_series(1, 2000)",
    ],
)
def test_what_is_too_large_is_refused(sql: str) -> None:
    with pytest.raises(Refusal):
        SHARED.answer(ANN, sql)


def test_many_ask_at_once() -> None:
    found = catalogue()
    sql = f"SELECT current_user, ({NAMES.replace('relname', 'count(*)', 1).replace(' ORDER BY 1', '')})"

    def ask(number: int) -> bool:
        name = f"person{number % 7}"
        return found.answer(Visitor(name, "analyst"), f"{sql}, {number}")[1] == [(name, len(TABLES), number)]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(200)))


@pytest.mark.parametrize(
    ("sql", "kept"),
    [
        ("SELECT array_agg(oid) FROM pg_namespace", True),
        ("SELECT ARRAY[(SELECT string_agg(a.typname || b.nspname, ',') FROM pg_type a, pg_namespace b)]", False),
        (f"SELECT {', '.join(['oid'] * 200)} FROM pg_type LIMIT 100", False),
    ],
)
def test_an_answer_is_remembered_by_all_that_it_holds(sql: str, *, kept: bool) -> None:
    SHARED.answer(ANN, sql)
    assert (SHARED._of(ANN).answers.get((ANN.name, sql)) is not None) == kept
