"""What a review broke, each as it was broken: it must not work again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import clinic
import duckdb
import pyarrow as pa
import pytest
from clinic import COUNT

from discreet.curator import Curator
from discreet.curator.custody import Custody, Declared
from discreet.curator.quote import TermsGiven
from discreet.declared.group_key import Type
from discreet.errors import Fault, OverBudget, Refusal
from discreet.ledger import SqliteLedger
from discreet.privacy import Approximate
from discreet.sql import render
from discreet.sql.expression import Call, Field, Literal
from discreet.sql.functions import FUNCTIONS

THEIRS = "CASE WHEN patient = 999 THEN"
DAY = "ELSE '2020-01-01' END AS DATE"


@pytest.mark.parametrize(
    "caps", [{"max_rows": -5}, {"max_rows": 0}, {"max_groups": 0}, {"max_groups": 2_000_000}, {"max_rows": True}]
)
def test_caps_below_one_or_absurd_are_refused(home: Path, caps: TermsGiven) -> None:
    for sql in ("SELECT sum(cost) FROM visits", "SELECT diagnosis, count(*) FROM visits GROUP BY diagnosis"):
        with pytest.raises(Refusal, match=r"max_rows|max_groups"):
            Curator(home).query(sql, **(caps | TermsGiven(epsilon=1)))
    with pytest.raises(Refusal, match=r"max_rows|max_groups"):
        Custody(home).add("more", clinic.visits(3), clinic.declared(epsilon=2, **caps))


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT count(*) FROM visits WHERE substring(diagnosis, {THEIRS} 9000000000 ELSE 1 END, 1) = 'x'",
        f"SELECT count(*) FROM visits WHERE date_trunc('week', CAST({THEIRS} '5881580-07-10' {DAY})) > '2000-01-01'",
        f"SELECT count(*) FROM visits WHERE extract(week FROM CAST({THEIRS} '5877642-06-25 (BC)' {DAY})) > 3",
        "SELECT sum(CASE WHEN patient = 999 THEN 4000000000000000 ELSE 0 END) FROM visits",
        "SELECT variance(CASE WHEN patient = 999 THEN 1000000 ELSE 0 END) FROM visits",
        f"SELECT CAST({THEIRS} 'infinity' ELSE '9999-12-31' END AS DATE), count(*) FROM visits GROUP BY 1",
    ],
)
def test_no_row_can_make_a_question_fail_or_two_groups_one(tmp_path: Path, sql: str) -> None:
    rows = [(i, "north", "d", 5.0, clinic.START, True) for i in range(300)]
    target = (999, "north", "d", 5.0, clinic.START, True)
    counts = []
    for name, data in (("a", rows), ("b", [*rows, target])):
        curator = Curator(clinic.home(tmp_path / name, clinic.table(data), max_rows=1, max_groups=1))
        found = curator.query(sql, epsilon=500)  # so dear that a count is exact but with probability e^-100
        counts.append({row[:-1]: row[-1] for row in found.rows})
    if "GROUP BY" in sql:
        day = dt.date(9999, 12, 31)
        assert counts[0] == counts[1] == {(day,): 300}  # what is no date of years 1 to 9999 is NULL


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(CASE WHEN patient = 1 THEN 40000000000000000 ELSE 0 END * 1000) FROM visits",
        "SELECT variance(CASE WHEN patient = 1 THEN 10000000000 ELSE 0 END * 10000000000) FROM visits",
        "SELECT sum(cost * 1e300 * 1e300) FROM visits",
        "SELECT sum(LEAST(cost, 1e999)) FROM visits",
        "SELECT percentile_cont('abc') WITHIN GROUP (ORDER BY cost) FROM visits",
        "SELECT cost, count(*) FROM visits GROUP BY cost",
        "SELECT sum(a) FROM (SELECT diagnosis AS a, cost AS a FROM visits) t",
        'SELECT sum(a) FROM (SELECT diagnosis AS "a", cost AS "A" FROM visits) t',
    ],
)
def test_what_could_overflow_or_mislead_is_refused_before_it_is_paid(home: Path, sql: str) -> None:
    Custody(home).add("wards", pa.table({"beds": [1, 2]}), Declared(public=True))
    curator = Curator(home)
    with pytest.raises(Refusal):
        curator.query(sql, epsilon=1)
    assert curator.budget("patient").spent == Approximate(0)


EXTREME: dict[Type, list[object]] = {
    Type.BIGINT: [None, 0, 1, -1, 2**62, -(2**62), 2**53 + 1],
    Type.DOUBLE: [None, 0.0, -0.0, 1e308, -1e308, 5e-324, 0.5, float("inf"), float("-inf"), float("nan")],
    Type.VARCHAR: [None, "", "a", "%_\\", "é" * 50, "9" * 400, "1e999", "\\", "infinity", "nan", "0001-01-01"],
    Type.DATE: [None, "0001-01-01", "9999-12-31", "2024-02-29"],
    Type.TIMESTAMP: [None, "0001-01-01", "9999-12-31", "2024-02-29 23:59:59.999999"],
    Type.BOOLEAN: [None, True, False],
}


WRITTEN: dict[str, list[object]] = {  # what only a question writes
    "moment by format": ["%Y-%m-%d %H:%M:%S.%f"],
    "formatted": ["%Y-%m-%d %H:%M:%S.%f %a %b %j %p"],
    "matches": ["^[^a-z]*(é|9)+\\d?$"],
    "matches in any case": ["[A-Z]|%_"],
}


@pytest.fixture(scope="module")
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
def test_every_function_is_total_on_extreme_cells(engine: duckdb.DuckDBPyConnection, function: str) -> None:
    rule, tried = FUNCTIONS[function], 0
    mixed = [(Type.VARCHAR, Type.BIGINT, Type.BIGINT), (Type.DATE, Type.BIGINT), (Type.TIMESTAMP, Type.BIGINT)]
    mixed += [(Type.DOUBLE, Type.BIGINT, Type.BIGINT, Type.BIGINT), (Type.DOUBLE, Type.BIGINT)]
    mixed += [(Type.VARCHAR, Type.VARCHAR, Type.BIGINT), (Type.DATE, Type.VARCHAR), (Type.TIMESTAMP, Type.VARCHAR)]
    for arity in {rule.arity[0], min(rule.arity[1], max(3, rule.arity[0]))}:
        for kinds in [(kind,) * arity for kind in Type] + [kinds[:arity] for kinds in mixed]:
            kind = rule.typing(list(kinds)) if len(kinds) == arity else None
            if kind is None:
                continue
            texts = []
            for i in range(max(len(EXTREME[k]) for k in kinds) ** min(arity, 2)):
                cells = [EXTREME[k][(i // len(EXTREME[kinds[0]]) ** j) % len(EXTREME[k])] for j, k in enumerate(kinds)]
                cells[1:2] = WRITTEN.get(function, cells[1:2])
                call = Call(function, tuple(Literal(c, k) for c, k in zip(cells, kinds, strict=True)), kind)
                texts.append(render.expression(call))
            assert len(engine.execute(f"SELECT {', '.join(texts)}").fetchall()[0]) == len(texts)
            tried += len(texts)
    assert tried


def test_the_root_of_a_negative_number_is_nought(engine: duckdb.DuckDBPyConnection) -> None:
    """As its range says. Engines disagree: to some it is no number, to others an error."""
    text = render.expression(Call("sqrt", (Field("x", Type.DOUBLE),), Type.DOUBLE))
    values = "SELECT unnest(CAST([-4, -0.0, 9, NULL] AS DOUBLE[])) AS x"
    assert engine.execute(f"SELECT {text} FROM ({values})").fetchall() == [(0,), (0,), (3,), (None,)]


@pytest.mark.parametrize("function", ["left", "substring"])
def test_of_no_number_of_letters_there_is_no_text(engine: duckdb.DuckDBPyConnection, function: str) -> None:
    """NULL, as in any SQL; GREATEST made a number of it."""
    rule, text, one = FUNCTIONS[function], Literal("abc", Type.VARCHAR), Literal(1, Type.BIGINT)
    for size in range(2, rule.arity[1] + 1):
        for hole in range(1, size):
            given = [text, *[one] * (size - 1)]
            given[hole] = Literal(None, Type.BIGINT)
            whole, holed = (
                render.expression(Call(function, tuple(arguments), Type.VARCHAR))
                for arguments in ([text, *[one] * (size - 1)], given)
            )
            [(there, gone)] = engine.execute(f"SELECT {whole}, {holed}").fetchall()
            assert there
            assert gone is None


@pytest.mark.parametrize("kind", [k for k in Type if k is not Type.BOOLEAN])
def test_casts_and_parts_of_dates_are_total(engine: duckdb.DuckDBPyConnection, kind: Type) -> None:
    for source, cells in EXTREME.items():
        for cell in cells:
            if source is kind:
                continue
            text = render.expression(Call("cast", (Literal(cell, source),), kind))  # type: ignore[arg-type]
            try:
                engine.execute(f"SELECT {text}").fetchall()
            except duckdb.BinderException:
                continue  # no such cast at all: it fails for every row alike, before any is read
    if kind in (Type.DATE, Type.TIMESTAMP):
        for cell in EXTREME[kind]:
            for part in ("year", "quarter", "month", "week", "day", "hour", "minute"):
                for name, result in (("extract", Type.BIGINT), ("date_trunc", Type.TIMESTAMP)):
                    call = Call(f"{name} {part}", (Literal(cell, kind),), result)  # type: ignore[arg-type]
                    engine.execute(f"SELECT {render.expression(call)}").fetchall()


def test_a_revoked_person_has_no_rights_left(home: Path) -> None:
    Custody(home).let_in("ana", "analyst", allowance="0.5")
    curator = Curator(home, principal="ana")
    curator.query(COUNT, epsilon="0.4")
    Custody(home).shut_out("ana")
    with pytest.raises(Refusal, match="no user 'ana'"):
        curator.query("SELECT sum(cost) FROM visits", epsilon="0.05")
    with pytest.raises(Refusal, match="no user 'nobody'"):
        Curator(home, principal="nobody")
    with pytest.raises(Refusal, match="another name"):
        Custody(home).let_in("custodian", "analyst")


def test_within_never_spends_more_than_was_asked(home: Path) -> None:
    curator = Curator(home)
    sql = "SELECT diagnosis, count(*) FROM visits GROUP BY diagnosis"
    cost = curator.query(sql, epsilon="0.01", delta="0.01", within=True).cost
    assert cost == Approximate("0.01", "0.001")


def test_declarations_that_contradict_the_ledger_are_refused(home: Path) -> None:
    text = (home / "discreet.toml").read_text(encoding="utf-8")
    (home / "discreet.toml").write_text(text.replace('epsilon = "2"', 'epsilon = "200"', 1), encoding="utf-8")
    with pytest.raises(Refusal, match=r"gives 'patient' epsilon 200, delta 0.001 for .*, the ledger epsilon 2, delta"):
        Curator(home)
    (home / "discreet.toml").write_text(text.replace("add-remove", "replace", 1), encoding="utf-8")
    with pytest.raises(Refusal, match=r"for 'patient' \(replace\), the ledger .* for 'patient' \(add-remove\)"):
        Curator(home)


def test_a_restored_declaration_serves_no_stale_answer(home: Path) -> None:
    old = (home / "discreet.toml").read_text(encoding="utf-8")
    Custody(home).update("visits", clinic.visits(5))
    first = Curator(home).query(COUNT, epsilon="0.1")
    (home / "discreet.toml").write_text(old, encoding="utf-8")
    Custody(home).update("visits", clinic.visits(50, seed=4))
    again = Curator(home).query(COUNT, epsilon="0.1")
    assert (first.cost, again.cost) == (Approximate("0.1"), Approximate("0.1"))


def test_units_do_not_join_a_population_of_rows(home: Path) -> None:
    Custody(home).add("site", clinic.visits(3), Declared(unit="row", epsilon=1))
    with pytest.raises(Refusal, match="its own unit"):
        Custody(home).add("v2", clinic.visits(3), Declared(unit="patient", population="site"))


def test_a_failure_after_paying_puts_the_population_on_hold(home: Path) -> None:
    curator = Curator(home)
    curator.query(COUNT, epsilon="0.1")
    for opened in curator._store._open.values():
        opened.connection.close()  # what is wrong with a file is seen before paying, with an engine after
    with pytest.raises(Fault):
        curator.query("SELECT sum(cost) FROM visits", epsilon="0.5")
    assert SqliteLedger(home / "ledger.db").books().account("patient").held
    with pytest.raises(Refusal, match="maintenance"):
        Curator(home).query("SELECT avg(cost) FROM visits", epsilon="0.5")
    Custody(home).lift("patient")
    assert not SqliteLedger(home / "ledger.db").books().account("patient").held
    assert Curator(home).budget("patient").spent == Approximate(Fraction(6, 10))


def test_many_groups_are_filled_quickly_and_too_many_refused(tmp_path: Path) -> None:
    curator = Curator(clinic.home(tmp_path / "home", keys={"region": [f"r{i}" for i in range(20_000)]}))
    assert len(curator.query("SELECT region, count(*) FROM visits GROUP BY region", epsilon=1).rows) == 20_000
    with pytest.raises(Refusal, match="more than 100000"):
        curator.query("SELECT count(*) FROM visits GROUP BY region, urgent, NOT urgent, urgent OR urgent", epsilon=1)
    with pytest.raises(OverBudget):
        curator.query(COUNT, epsilon=2000)
