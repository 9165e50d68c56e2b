"""With the noise silenced by a double, answers equal plain DuckDB; the double is passed to an inner function."""

from __future__ import annotations

from pathlib import Path

import clinic
import duckdb
import pytest

from discreet.curator import Curator, Terms


class Silent:
    """All bits are zero: the vector samplers then draw 0. Nothing in production accepts it."""

    def bits(self, _: int, /) -> int:
        return 0

    def raw(self, count: int, /) -> bytes:
        return bytes(count)


def quiet(curator: Curator, sql: str, **terms: object) -> list[tuple[object, ...]]:
    """The answer without noise."""
    usual: dict[str, object] = {"epsilon": 10, "delta": "1e-5", "fresh": True}
    return list(curator._answer(sql, Terms(**{**usual, **terms}), curator._store, Silent()).rows)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Curator, duckdb.DuckDBPyConnection]:
    folder = clinic.home(tmp_path_factory.mktemp("golden") / "home", epsilon=10**6)
    plain = duckdb.connect()
    plain.register("visits", clinic.visits())
    return Curator(folder), plain


EXACT = [
    "SELECT count(*) FROM visits",
    "SELECT count(cost) FROM visits",
    "SELECT count(DISTINCT patient) FROM visits",
    "SELECT region, count(*) AS n FROM visits GROUP BY region ORDER BY region",
    "SELECT region, urgent, count(*) FROM visits GROUP BY region, urgent ORDER BY 1, 2",
    "SELECT count(*) FROM visits WHERE cost > 100 AND region IN ('north', 'east')",
    "SELECT count(*) FROM visits WHERE day BETWEEN '2024-03-01' AND '2025-03-01' OR cost IS NULL",
    "SELECT count(*) FROM visits WHERE NOT urgent AND region LIKE '%th'",
    "SELECT sum(CASE WHEN urgent THEN 1 ELSE 0 END) FROM visits",
    "SELECT region, count(*) AS n FROM visits GROUP BY region HAVING count(*) > 90 ORDER BY n DESC",
    "SELECT region, count(*) AS n FROM visits GROUP BY region ORDER BY n DESC, region LIMIT 2",
    "SELECT max(n) - min(n) FROM (SELECT region, count(*) AS n FROM visits GROUP BY region) t",
    (
        "WITH u AS (SELECT region AS r, cost AS c FROM visits WHERE urgent) "
        "SELECT r, count(*) FROM u GROUP BY r ORDER BY r"
    ),
    "SELECT a.n + b.n FROM (SELECT count(*) n FROM visits) a, (SELECT count(*) n FROM visits WHERE urgent) b",
    "SELECT region, rank() OVER (ORDER BY count(*) DESC) FROM visits GROUP BY region ORDER BY 2, 1",
    "SELECT 1 + count(*) FROM visits",
]
NEAR = [
    "SELECT sum(cost) FROM visits",
    "SELECT avg(cost) FROM visits",
    "SELECT region, avg(cost), sum(cost) FROM visits GROUP BY region ORDER BY region",
    "SELECT var_pop(cost), variance(cost), stddev(cost) FROM visits",
    "SELECT sum(cost * 2 - 10) FROM visits WHERE cost > 3",
    "SELECT sum(LEAST(GREATEST(cost, 100), 500)) FROM visits",
    "SELECT sum(cost) / count(*) FROM visits",
]


@pytest.mark.parametrize("sql", EXACT)
def test_counts_equal_plain_duckdb(asked: tuple[Curator, duckdb.DuckDBPyConnection], sql: str) -> None:
    curator, plain = asked
    assert quiet(curator, sql) == [tuple(row) for row in plain.execute(sql).fetchall()]


@pytest.mark.parametrize("sql", NEAR)
def test_sums_equal_plain_duckdb_on_the_grid(asked: tuple[Curator, duckdb.DuckDBPyConnection], sql: str) -> None:
    curator, plain = asked
    for ours, theirs in zip(quiet(curator, sql), plain.execute(sql).fetchall(), strict=True):
        assert [
            cell if isinstance(cell, str) else pytest.approx(float(str(cell)), rel=1e-4) for cell in theirs
        ] == list(ours)


def test_unknown_keys_are_named_if_they_have_enough_people(
    asked: tuple[Curator, duckdb.DuckDBPyConnection],
) -> None:
    curator, plain = asked
    sql = "SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis ORDER BY diagnosis"
    assert quiet(curator, sql, epsilon=10**5) == [tuple(row) for row in plain.execute(sql).fetchall()]


def test_declared_keys_appear_even_if_nobody_has_them(tmp_path: Path) -> None:
    folder = clinic.home(tmp_path / "home", keys={"region": ["north", "nowhere"]})
    rows = quiet(Curator(folder), "SELECT region, count(*) FROM visits GROUP BY region")
    found = {row[0]: row[1] for row in rows}
    assert found["nowhere"] == 0
    assert set(found) == {"north", "nowhere"}


def test_caps_choose_a_units_groups_and_then_its_rows(tmp_path: Path) -> None:
    day = clinic.START
    rows = [(1, "north", "d", 100.0, day, True)] * 6 + [(1, "south", "d", 10.0, day, True)] * 2
    rows += [(2, "east", "d", 7.0, day, True)]
    folder = clinic.home(tmp_path / "home", clinic.table(rows), max_rows=4, max_groups=2)
    curator = Curator(folder)
    # patient 1 has eight rows in two groups: four of them count, whole, and all numbers are about the same four
    sql = "SELECT region, count(*), sum(cost), count(DISTINCT patient) FROM visits GROUP BY region"
    found = {row[0]: row[1:] for row in quiet(curator, sql)}
    south = found["south"][0]
    assert isinstance(south, int)
    assert found["south"] == (south, 10.0 * south, min(south, 1))
    assert found["north"] == (4 - south, 100.0 * (4 - south), 1)
    assert south <= 2
    assert found["east"] == (1, 7.0, 1)
    one = {row[0]: row[1:] for row in quiet(curator, sql, max_groups=1)}
    assert one["east"] == (1, 7.0, 1)
    assert sorted([one["north"], one["south"]]) in ([(0, 0.0, 0), (4, 400.0, 1)], [(0, 0.0, 0), (2, 20.0, 1)])
