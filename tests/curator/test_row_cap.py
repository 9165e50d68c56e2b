"""A person with more rows than count keeps whole rows, and every number of an answer is about the same ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Unpack

import duckdb
import pyarrow as pa
import pytest

from discreet.curator import Curator, catalogue
from discreet.curator.custody import Custody, Declared, found_home
from discreet.curator.quote import TermsGiven
from discreet.sql.cell_numbers import BoundedRows
from discreet.sql.split_at_noise import rows_of

PEOPLE, REGIONS = 1000, tuple("abcdefg")
EXACT = 10**8  # so much ε that the noise is nothing


def seven(people: int = PEOPLE) -> pa.Table:
    """Each person with a row in each of seven regions, and in four of them a 1."""
    rows = [(who, place, int(i < 4), 10 * who + i) for who in range(people) for i, place in enumerate(REGIONS)]
    names = "who", "region", "one", "visit"
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def home(folder: Path, rows: pa.Table, **changes: object) -> Curator:
    said: dict[str, object] = {
        "unit": "who",
        "epsilon": 10**12,
        "delta": "1e-3",
        "max_rows": 5,
        "max_groups": 7,
        "bounds": {"one": (0, 1), "visit": (0, 10_000)},
        "keys": {"region": REGIONS},
    }
    found_home(folder)
    Custody(folder).add("t", rows, Declared(**{**said, **changes}))  # type: ignore[arg-type]
    return Curator(folder)


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Curator:
    return home(tmp_path_factory.mktemp("cap") / "home", seven())


def by_region(curator: Curator, numbers: str, **terms: Unpack[TermsGiven]) -> Mapping[str, tuple[float, ...]]:
    sql = f"SELECT region, {numbers} FROM t GROUP BY region ORDER BY region"
    return {str(row[0]): row[1:] for row in curator.query(sql, **terms).rows}  # type: ignore[misc]


def test_seven_rows_in_seven_regions_under_a_cap_of_five(curator: Curator) -> None:
    """Scaled down and cut, as it once was, every region had 0 rows and the average was .4 for .571."""
    found = by_region(curator, "count(*), avg(one)", epsilon=100)
    # Hoeffding: each of seven is 107 off 1000·5/7 with probability < 1e-9 / 7; the noise at ε = 100 is 0.1 to it
    assert all(abs(count - PEOPLE * 5 / 7) < 110 for count, _ in found.values())
    assert sum(count for count, _ in found.values()) == pytest.approx(5 * PEOPLE, abs=20)
    answer = curator.query("SELECT avg(one), count(*) FROM t", epsilon=100)
    [(mean, count)] = answer.rows
    # of each person's 5 from 2 to 4 are kept, with variance 20/49: 150 of 5000 off are once in 10^10 (Bernstein)
    assert abs(float(str(mean)) - 4 / 7) < 0.03
    assert abs(int(str(count)) - 5 * PEOPLE) < 10


def test_numbers_of_one_question_are_of_the_same_rows(curator: Curator) -> None:
    """What is kept follows from the answers: `visit` is 10 times the person plus the region."""
    numbers = "count(*), sum(one), avg(one), count(one), sum(visit), variance(visit), count(DISTINCT who)"
    every = by_region(curator, numbers, epsilon=EXACT)
    for region, (rows, ones, mean, present, total, spread, people) in every.items():
        assert rows == present == people
        assert ones == (rows if region < "e" else 0)
        assert mean == pytest.approx(ones / rows, abs=1e-4)
        assert total % 10 == REGIONS.index(region) * rows % 10
        assert spread > 0
    ranked = by_region(curator, "count(*), count(DISTINCT visit), median(visit)", epsilon=EXACT)
    assert all(rows == values for rows, values, _ in ranked.values())
    assert sum(int(rows) for rows, *_ in ranked.values()) == 5 * PEOPLE


def test_people_alone_need_no_row_cap(curator: Curator) -> None:
    found = by_region(curator, "count(DISTINCT who)", epsilon=EXACT)
    assert {region: people for region, (people,) in found.items()} == dict.fromkeys(REGIONS, PEOPLE)
    capped = by_region(curator, "count(DISTINCT who)", epsilon=EXACT, max_groups=2)
    assert sum(int(people) for (people,) in capped.values()) == 2 * PEOPLE


def test_values_are_counted_once_however_often_they_are_said(tmp_path: Path) -> None:
    """Where nothing counts rows, a hundred that say the same take no place from another."""
    rows = pa.table({"who": [1] * 103, "region": ["a"] * 103, "one": [0] * 103, "visit": [7] * 100 + [1, 2, 3]})
    only = home(tmp_path / "home", rows)
    assert by_region(only, "count(DISTINCT visit)", epsilon=EXACT)["a"] == (4,)
    both = by_region(only, "count(*), count(DISTINCT visit)", epsilon=EXACT)["a"]
    assert both[0] == 5
    assert 1 <= both[1] <= 4


def test_rows_that_are_alike_are_not_kept_or_dropped_together(tmp_path: Path) -> None:
    """Three of six rows, three of them in either place: all of one place has the chance 1/20, and once had 1/2."""
    people, places = 300, list("aaabbb")
    rows = pa.table({"who": [who for who in range(people) for _ in places], "region": places * people})
    home(tmp_path / "home", rows, max_rows=3, bounds={})
    others = pa.table({"who": range(people), "kind": ["x"] * people})
    Custody(tmp_path / "home").add("other", others, Declared(unit="who", max_rows=1))
    curator = Curator(tmp_path / "home")
    for source in ("t", "t JOIN other o ON t.who = o.who"):
        sql = f"SELECT t.region, count(*), count(DISTINCT t.who) FROM {source} GROUP BY t.region"
        found = {str(place): (int(str(n)), int(str(each))) for place, n, each in curator.query(sql, epsilon=EXACT).rows}
        assert found["a"][0] + found["b"][0] == 3 * people
        # Hoeffding: 300 people are 85 off 19/20 of 300 with probability < 1e-9
        assert min(found["a"][1], found["b"][1]) > people * 19 / 20 - 85
    tree = rows_of("SELECT who, region FROM t", catalogue.read(tmp_path / "home").schema)
    kept = Counter(
        who for who, place in curator._store.rows(BoundedRows(tree, 3)) if place == "a"
    )  # what a release is made of
    assert set(kept.values()) == {1, 2, 3}


def test_plain_duckdb_agrees_where_nobody_has_too_many(tmp_path: Path) -> None:
    rows = seven(50)
    free = home(tmp_path / "home", rows, max_rows=7)
    db = duckdb.connect()
    db.register("t", rows)
    sql = "SELECT region, count(*), sum(visit), avg(one), count(DISTINCT who) FROM t GROUP BY region ORDER BY region"
    for ours, theirs in zip(free.query(sql, epsilon=10**8).rows, db.execute(sql).fetchall(), strict=True):
        assert ours[0] == theirs[0]
        assert [float(str(cell)) for cell in ours[1:]] == pytest.approx([float(cell) for cell in theirs[1:]], rel=1e-4)
