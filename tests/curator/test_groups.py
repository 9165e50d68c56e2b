"""Questions about groups whose keys are not declared: measured of the rows where rows can tell, refused or told else.

Answers are compared with plain DuckDB at a price at which the noise is nothing, on groups of one person among others:
above the noise most of them are missing, so an aggregate of what is shown there would be far off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import hospital
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from doubles import Seeded

from discreet.curator import Curator, Terms
from discreet.curator.custody import Custody, Declared, found_home
from discreet.errors import Refusal
from discreet.sql.above_noise import EVERY_KEY, PARTIAL

PEOPLE, ORDERS = 60, 240


def tables() -> dict[str, pa.Table]:
    """Visits of people to many places that few share; orders, and items that find their owner through them."""
    place = [None if i % 17 == 3 else i % 7 if i % 2 else 100 + i for i in range(PEOPLE)]
    word = [None if i % 13 == 5 else "a" if i % 3 else f"b{i}" for i in range(PEOPLE)]
    cost = [None if i % 5 == 0 else float(i % 9) for i in range(PEOPLE)]
    orders = [(i, i % PEOPLE, i % 50) for i in range(ORDERS)]
    items = [(i % (ORDERS - 20), i % 6, 1 + i * 13 // 7 % 10) for i in range(3 * ORDERS)]
    return {
        "visits": pa.table({"person": range(PEOPLE), "place": place, "word": pa.array(word), "cost": cost}),
        "orders": _table(["order_key", "person", "price"], orders),
        "items": _table(["item_order", "shop", "pieces"], items),
        "shops": pa.table({"shop": range(8)}),
    }


def _table(names: list[str], rows: Sequence[tuple[int, ...]]) -> pa.Table:
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})


Asked = tuple[Curator, duckdb.DuckDBPyConnection]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    folder, given = tmp_path_factory.mktemp("groups") / "home", tables()
    found_home(folder)
    usual = {"epsilon": 10**30, "delta": "1e-3", "max_rows": 40, "max_groups": 40}
    custody = Custody(folder)
    custody.add("visits", given["visits"], Declared(unit="person", bounds={"cost": (0, 10)}, **usual))  # type: ignore[arg-type]
    custody.add("orders", given["orders"], Declared(unit="person", bounds={"price": (0, 60)}, **usual))  # type: ignore[arg-type]
    link = {"item_order": "orders.order_key"}
    custody.add("items", given["items"], Declared(link=link, bounds={"pieces": (0, 10)}, **usual))  # type: ignore[arg-type]
    custody.add("shops", given["shops"], Declared(public=True))
    with hospital.plain(given, {}) as plain:
        yield Curator(folder), plain


OF_ROWS = """
-- groups are counted, and NULL is one
SELECT count(*) FROM (SELECT DISTINCT place FROM visits) t;
SELECT count(*) FROM (SELECT place FROM visits GROUP BY place) t;
SELECT count(*), count(1), count(place), count(DISTINCT place)
    FROM (SELECT place, count(*) n FROM visits GROUP BY place) t;
SELECT count(n) FROM (SELECT place, count(*) n FROM visits GROUP BY place) t;
WITH t AS (SELECT DISTINCT word FROM visits) SELECT count(*) AS n FROM t;
WITH t(k) AS (SELECT DISTINCT word FROM visits WHERE cost > 2) SELECT count(*), count(k) FROM t;
SELECT count(*) FROM (SELECT DISTINCT place, word FROM visits) t(a, b);
SELECT count(*), count(a), count(DISTINCT b) FROM (SELECT DISTINCT place AS a, word AS b FROM visits) t;
SELECT count(*) FROM (SELECT DISTINCT word, word || 'x' AS more, place FROM visits) t;
SELECT count(*) FROM (SELECT DISTINCT place FROM visits) t WHERE place < 100 AND place <> 3;
SELECT count(*) + 1, 2 * count(place) FROM (SELECT DISTINCT place FROM visits) t;
SELECT count(*) FROM (SELECT DISTINCT order_key FROM orders) t;
SELECT word, count(*) AS n FROM (SELECT DISTINCT word, place FROM visits) t
    WHERE word = 'a' GROUP BY word ORDER BY n DESC;
SELECT (SELECT count(*) FROM (SELECT DISTINCT place FROM visits) t) AS n;
-- sums, averages and extremes over groups
SELECT sum(n), avg(n) FROM (SELECT place, count(*) n FROM visits GROUP BY place) t;
SELECT sum(s), avg(s), max(m) FROM (SELECT place, sum(cost) s, max(cost) m FROM visits GROUP BY place) t;
SELECT avg(n), sum(n) FROM (SELECT place, word, count(cost) n FROM visits GROUP BY place, word) t;
SELECT count(*) FROM visits
    WHERE cost > (SELECT avg(s) / 2 FROM (SELECT place, sum(cost) s FROM visits GROUP BY place) t);
-- through the link
SELECT count(*) FROM (SELECT DISTINCT item_order FROM items) t;
SELECT count(*) FROM (SELECT item_order, sum(pieces) s FROM items GROUP BY item_order) t WHERE s > 15;
SELECT avg(s) FROM (SELECT item_order, sum(pieces) s FROM items GROUP BY item_order) t;
SELECT count(*) FROM (SELECT item_order, shop, count(*) n FROM items GROUP BY item_order, shop HAVING count(*) > 1) t;
SELECT count(*) FROM orders
    WHERE order_key IN (SELECT item_order FROM items GROUP BY item_order HAVING sum(pieces) > 15);
SELECT count(*) FROM orders WHERE order_key IN (SELECT item_order FROM items WHERE shop = 2);
SELECT count(*) FROM orders WHERE order_key NOT IN (SELECT item_order FROM items WHERE shop = 2);
SELECT sum(pieces) FROM items WHERE item_order IN (SELECT order_key FROM orders WHERE price > 30);
SELECT count(*) FROM items a WHERE item_order IN (SELECT item_order FROM items WHERE pieces = 10);
SELECT count(*) FROM items a WHERE item_order NOT IN (SELECT item_order FROM items WHERE pieces = 10);
SELECT count(*) FROM items a WHERE EXISTS
    (SELECT 1 FROM items b WHERE b.item_order = a.item_order AND b.shop <> a.shop);
SELECT count(*) FROM items a WHERE NOT EXISTS
    (SELECT 1 FROM items b WHERE b.item_order = a.item_order AND b.pieces > a.pieces);
SELECT count(*) FROM items a JOIN items b ON a.item_order = b.item_order WHERE a.pieces < b.pieces;
SELECT count(*), sum(s) FROM orders JOIN (SELECT item_order, sum(pieces) s FROM items GROUP BY item_order) t
    ON item_order = order_key WHERE price > s;
SELECT count(DISTINCT item_order) FROM items;
SELECT count(*) FROM (SELECT sum(pieces) OVER (PARTITION BY item_order) s FROM items) t WHERE s > 15;
"""
CASES = [
    pytest.param(sql, id=f"{name} {i}") for name, sqls in hospital.listed(OF_ROWS).items() for i, sql in enumerate(sqls)
]


@pytest.mark.parametrize("sql", CASES)
def test_what_rows_can_tell_is_measured_of_them(asked: Asked, sql: str) -> None:
    curator, plain = asked
    truth = plain.execute(sql).fetchall()
    assert all(cell for row in truth for cell in row), "the text compares nothing"
    assert not hospital.unlike(hospital.exactly(curator, sql), truth)


INNER = "(SELECT place, count(*) n, sum(cost) s, count(DISTINCT word) d FROM visits GROUP BY place) t"
REFUSED = [
    f"SELECT count(*) FROM {INNER} WHERE n > 2",
    f"SELECT count(*) FROM {INNER} WHERE s < 100",
    f"SELECT min(n) FROM {INNER}",
    f"SELECT max(s) FROM {INNER}",
    f"SELECT sum(d) FROM {INNER}",
    f"SELECT sum(place) FROM {INNER}",
    f"SELECT stddev(n) FROM {INNER}",
    f"SELECT n, count(*) FROM {INNER} GROUP BY n",
    f"SELECT count(*), sum(n * 2) FROM {INNER}",
    f"SELECT count(*) FROM {INNER} JOIN shops ON shops.shop = t.place",
    f"SELECT count(*) FROM (SELECT place, n FROM {INNER}) u",
    f"SELECT count(*) FILTER (WHERE n > 1) FROM {INNER}",
    f"SELECT count(*) FROM shops WHERE shop IN (SELECT place FROM {INNER})",
    f"SELECT count(*) FROM (SELECT shop FROM shops WHERE shop IN (SELECT place FROM {INNER})) u",
    "SELECT count(*) FROM (SELECT place FROM visits GROUP BY place HAVING count(*) > 1) t",
    "SELECT count(*) FROM (SELECT place FROM visits GROUP BY place ORDER BY 1 LIMIT 5) t",
    f"SELECT count(*) FROM visits WHERE cost > (SELECT min(n) FROM {INNER})",
    f"WITH u AS (SELECT * FROM {INNER}) SELECT place, n FROM u WHERE n > (SELECT max(n) / 2 FROM u)",
]


@pytest.mark.parametrize("sql", REFUSED)
def test_what_they_cannot_is_refused_before_it_is_paid(asked: Asked, sql: str) -> None:
    curator, _ = asked
    spent = curator.budget("person").spent
    with pytest.raises(Refusal, match="over groups by place, and those with few people would be missing") as refused:
        hospital.exactly(curator, sql)
    assert "declare the keys of place with --keys" in refused.value.hint
    assert curator.budget("person").spent == spent


def bounding(curator: Curator, sql: str) -> str:
    return curator._answer(sql, Terms(epsilon=hospital.DEAR, delta="1e-9"), curator._store, Seeded(1)).bounding


TOLD = [
    "SELECT place, count(*), 100.0 * count(*) / sum(count(*)) OVER () FROM visits GROUP BY place",
    f"SELECT place, n, avg(n) OVER () FROM {INNER}",
    f"SELECT shop, coalesce(n, 0) FROM shops LEFT JOIN {INNER} ON t.place = shops.shop",
    f"SELECT shop FROM shops WHERE shop NOT IN (SELECT place FROM {INNER})",
]
SHOWN = [
    "SELECT place, count(*) FROM visits GROUP BY place ORDER BY 2 DESC LIMIT 3",
    "SELECT place, count(*) FROM visits GROUP BY place HAVING count(*) > 2",
    f"SELECT place, n, rank() OVER (ORDER BY n DESC) FROM {INNER} WHERE n > 1",
    f"SELECT place, s / n FROM {INNER}",
    f"SELECT shop, n FROM shops JOIN {INNER} ON t.place = shops.shop",
    "SELECT count(*) FROM visits",
    "SELECT count(*) FROM (SELECT DISTINCT place FROM visits) t",
    "SELECT CASE WHEN cost > 3 THEN 'much' ELSE 'little' END k, sum(count(*)) OVER () FROM visits GROUP BY 1",
]


@pytest.mark.parametrize("sql", TOLD)
def test_totals_over_the_groups_that_are_shown_say_so(asked: Asked, sql: str) -> None:
    assert PARTIAL in bounding(asked[0], sql)
    assert PARTIAL in bounding(asked[0], sql), "and again when it is read back"


@pytest.mark.parametrize("sql", SHOWN)
def test_groups_that_are_only_shown_stay_as_they_are(asked: Asked, sql: str) -> None:
    assert PARTIAL not in bounding(asked[0], sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT item_order, sum(pieces) FROM items GROUP BY item_order",
        "SELECT DISTINCT item_order FROM items",
        "SELECT item_order, shop, count(*) FROM items GROUP BY item_order, shop",
        "SELECT item_order, price, count(*) n FROM orders, items WHERE item_order = order_key GROUP BY 1, 2 ORDER BY n",
        "SELECT order_key, sum(price) FROM orders GROUP BY order_key",
        "SELECT order_key, sum(pieces) FROM orders JOIN items ON item_order = order_key GROUP BY order_key",
    ],
)
def test_the_key_of_a_link_names_its_owner(asked: Asked, sql: str) -> None:
    curator, _ = asked
    spent = curator.budget("person").spent
    with pytest.raises(Refusal, match=r"rows of people|one person each"):
        hospital.exactly(curator, sql)
    assert curator.budget("person").spent == spent


def test_its_repair_counts_the_groups(asked: Asked) -> None:
    curator, plain = asked
    with pytest.raises(Refusal) as refused:
        curator.explain("SELECT order_key, sum(price) FROM orders GROUP BY order_key", epsilon=1)
    assert refused.value.repair is not None
    assert hospital.exactly(curator, refused.value.repair) == plain.execute(refused.value.repair).fetchall()


def test_not_in_a_column_that_may_be_null_is_refused(asked: Asked) -> None:
    with pytest.raises(Refusal, match="NULL"):
        asked[0].explain("SELECT count(*) FROM items WHERE item_order NOT IN (SELECT order_key FROM orders)", epsilon=1)


def test_declared_groups_are_counted_as_they_occur(tmp_path: Path) -> None:
    """A declared key that nobody has is a row of zero above the noise, and no group; rows of others are in none."""
    found_home(tmp_path / "home")
    said = Declared(unit="person", epsilon=10**30, max_rows=1, keys={"word": ["a", "b6", "nobody's"]})
    Custody(tmp_path / "home").add("visits", tables()["visits"], said)
    with hospital.plain(tables(), {}) as plain:
        sql = "SELECT count(*), count(word) FROM (SELECT DISTINCT word FROM visits) t"
        declared = plain.execute(f"{sql} WHERE word IN ('a', 'b6', 'nobody''s')").fetchall()
        assert hospital.exactly(Curator(tmp_path / "home"), sql) == declared == [(2, 2)]


def test_one_persons_rows_change_a_count_of_groups_by_no_more_than_is_charged(asked: Asked) -> None:
    """The rows of the largest unit, taken away, move the statistic by at most the sensitivity of its mechanism."""
    curator, plain = asked
    sql = "SELECT count(*) FROM (SELECT item_order, shop FROM items GROUP BY item_order, shop) t"
    [part] = curator._question(sql, Terms()).parts
    [price] = curator._priced((part,), Terms(epsilon=1))
    [charge] = price.charges
    both = "SELECT DISTINCT person, item_order, shop FROM items JOIN orders ON item_order = order_key"
    owned = f"SELECT count(*) n FROM ({both}) GROUP BY person"
    [(largest,)] = plain.execute(f"SELECT max(n) FROM ({owned})").fetchall()
    assert 1 < largest <= charge.mechanism.sensitivity == 40  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_person_counts_with_no_more_groups_than_rows_are_allowed(tmp_path: Path) -> None:
    """Where the cap binds, a unit adds as many of its own groups as it may have rows, and removing it removes those."""
    given, cap = tables(), 3
    for i, folder in enumerate((tmp_path / "with", tmp_path / "without")):
        found_home(folder)
        custody = Custody(folder)
        orders = given["orders"].filter(pc.greater_equal(given["orders"]["person"], i))
        usual = {"epsilon": 10**30, "delta": "1e-3", "max_rows": cap, "max_groups": cap}
        custody.add("orders", orders, Declared(unit="person", **usual))  # type: ignore[arg-type]
        custody.add("items", given["items"], Declared(link={"item_order": "orders.order_key"}, **usual))  # type: ignore[arg-type]
        with hospital.plain({"orders": orders, "items": given["items"]}, {}) as plain:
            own = "SELECT count(DISTINCT item_order) n FROM items JOIN orders ON item_order = order_key GROUP BY person"
            [(most, truth)] = plain.execute(f"SELECT max(n), sum(least(n, {cap})) FROM ({own})").fetchall()
        assert most > cap
        [(found,)] = hospital.exactly(Curator(folder), "SELECT count(*) FROM (SELECT DISTINCT item_order FROM items) t")
        assert found == truth


# declared keys --------------------------------------------------------------------------------------------------------

WARDS = ["a", "b", "c", "zz", None]
MEASURED = [
    ("SELECT count(*) FROM (SELECT ward, count(*) n FROM stays GROUP BY ward) t", ((3,),)),
    ("SELECT count(ward), count(DISTINCT ward) FROM (SELECT DISTINCT ward FROM stays) t", ((3, 3),)),
    ("SELECT count(*) FROM (SELECT DISTINCT ward, room FROM stays) t", ((9,),)),
    ("SELECT sum(n), avg(n) FROM (SELECT ward, room, count(*) n FROM stays GROUP BY 1, 2) t", ((36, 4.0),)),
    ("SELECT count(*) FROM (SELECT DISTINCT level FROM stays) t", ((1,),)),
    ("SELECT count(*) FROM (SELECT DISTINCT CASE WHEN level = 1 THEN 'one' END AS k FROM stays) t", ((2,),)),
    ("SELECT count(*) FROM (SELECT DISTINCT well FROM stays) t", ((2,),)),
    ("SELECT count(*) FROM (SELECT DISTINCT upper(ward) AS w FROM stays) t WHERE w <> 'A'", ((2,),)),
]
ABOVE = [
    ("SELECT count(*), max(n) FROM (SELECT ward, count(*) n FROM stays GROUP BY ward) t", ((4, 12),)),
    ("SELECT avg(n) FROM (SELECT ward, count(*) n FROM stays GROUP BY ward) t", ((9.0,),)),
    ("SELECT count(*) FROM (SELECT * FROM (SELECT DISTINCT ward FROM stays) t) u", ((4,),)),
]
NO_GROUP = "Rows in which ward is NULL or none of its declared keys are in no group."


@pytest.fixture(scope="module")
def stays(tmp_path_factory: pytest.TempPathFactory) -> Curator:
    folder = tmp_path_factory.mktemp("declared") / "home"
    found_home(folder)
    rows = {
        "person": range(60),
        "ward": [WARDS[i % 5] for i in range(60)],
        "room": [f"r{i % 3}" for i in range(60)],
        "level": [[1, 2, None][i % 3] for i in range(60)],
        "well": [[True, False, None][i % 3] for i in range(60)],
    }
    keys = {"ward": ["a", "b", "c", "d"], "level": ["1"]}
    said = Declared(unit="person", epsilon=10**30, delta="1e-3", max_rows=1, max_groups=1, keys=keys)
    Custody(folder).add("stays", pa.table(rows), said)
    return Curator(folder)


@pytest.mark.parametrize(("sql", "expected"), MEASURED)
def test_groups_that_are_counted_are_those_of_declared_keys(
    stays: Curator, sql: str, expected: tuple[tuple[object, ...], ...]
) -> None:
    assert hospital.exactly(stays, sql) == list(expected)
    said = bounding(stays, sql)
    assert (NO_GROUP in said) == ("ward" in sql and "upper" not in sql)
    assert ("do not count for it" in said) == ("count(DISTINCT" in sql)
    assert EVERY_KEY not in said


@pytest.mark.parametrize(("sql", "expected"), ABOVE)
def test_keys_that_nobody_has_are_groups_above_the_noise_and_it_says_so(
    stays: Curator, sql: str, expected: tuple[tuple[object, ...], ...]
) -> None:
    assert hospital.exactly(stays, sql) == list(expected)
    assert EVERY_KEY in bounding(stays, sql)
    assert NO_GROUP in bounding(stays, sql)


@pytest.mark.parametrize("sql", ["SELECT ward, count(*) FROM stays GROUP BY ward", "SELECT count(*) FROM stays"])
def test_what_aggregates_no_groups_says_nothing_of_them(stays: Curator, sql: str) -> None:
    assert EVERY_KEY not in bounding(stays, sql)


def test_groups_of_long_texts_are_told_apart_to_their_ends(tmp_path: Path) -> None:
    found_home(tmp_path / "home")
    notes = [None if i % 8 == 7 else "x" * 20_000 + str(i % 8) for i in range(40)]
    rows = pa.table({"person": range(40), "note": notes, "part": [i % 5 for i in range(40)]})
    said = Declared(unit="person", epsilon=10**30, max_rows=1)
    Custody(tmp_path / "home").add("notes", rows, said)
    curator = Curator(tmp_path / "home")
    assert hospital.exactly(curator, "SELECT count(*) FROM (SELECT DISTINCT note FROM notes) t") == [(8,)]
    many = ", ".join(f"note || '{i}' AS n{i}" for i in range(200))
    assert hospital.exactly(curator, f"SELECT count(*) FROM (SELECT DISTINCT part, {many} FROM notes) t") == [(10,)]
    for words in ("sha256(note)", "digest(note)", "md5(note)"):
        with pytest.raises(Refusal):
            hospital.exactly(curator, f"SELECT count(DISTINCT {words}) FROM notes")
