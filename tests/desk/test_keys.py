"""Releases count each key in its one form: of every type, in one table and in several, as plain DuckDB counts them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from release.published import counted

from discreet.curator.custody import Custody, Declared, found_home
from discreet.desk import HOME, Desk, ReleaseOrder
from discreet.release import Wish

ROWS = 120
DAYS = [dt.date(2024, 1, 1), dt.date(2024, 1, 2), dt.date(2024, 2, 3)]
MOMENTS = [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 10, 0, 0, 250_000)]  # noqa: DTZ001
KEYS: dict[str, list[str]] = {
    "day": ["2024-1-1", "2024-01-02", "2024-2-3"],
    "moment": ["2024-01-01", "2024-01-01T10:00:00.25"],
    "rate": ["0.50", "1.0"],
    "flag": ["f", "TRUE"],
    "code": ["07", "8"],
    "word": ["a", " a", "A"],
}
FORMS: dict[str, list[object]] = {
    "day": ["2024-01-01", "2024-01-02", "2024-02-03"],
    "moment": ["2024-01-01 00:00:00", "2024-01-01 10:00:00.250000"],
    "rate": ["0.5", "1"],
    "flag": [False, True],
    "code": [7, 8],
    "word": ["a", " a", "A"],
}
SQL = {"day": "date", "moment": "timestamp", "rate": "double", "flag": "boolean", "code": "bigint", "word": "varchar"}


def rows() -> pa.Table:
    places = range(ROWS)
    return pa.table(
        {
            "day": pa.array([DAYS[i % 7 % 3] for i in places], pa.date32()),
            "moment": pa.array([MOMENTS[i % 5 % 2] for i in places], pa.timestamp("us")),
            "rate": pa.array([Decimal("0.50") if i % 3 else Decimal("1.00") for i in places], pa.decimal128(5, 2)),
            "flag": [i % 4 == 1 for i in places],
            "code": [7 + i % 11 % 2 for i in places],
            "word": [("a", " a", "A")[i % 4 % 3] for i in places],
        }
    )


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    home = tmp_path_factory.mktemp("released") / "home"
    found_home(home)
    Custody(home).add("people", rows(), Declared(unit="row", epsilon=10**9, keys=KEYS))
    return Desk(home)


def truth(columns: tuple[str, ...], keys: tuple[str, ...]) -> int:
    tests = [f"{name} = CAST('{key}' AS {SQL[name]})" for name, key in zip(columns, keys, strict=True)]
    with duckdb.connect() as plain:
        plain.register("people", rows())
        [(number,)] = plain.execute(f"SELECT count(*) FROM people WHERE {' AND '.join(tests)}").fetchall()
    return int(number)


@pytest.mark.parametrize("name", KEYS)
def test_a_histogram_counts_every_key(desk: Desk, name: str) -> None:
    order = ReleaseOrder.of("people", Wish.of("histogram", (name,), epsilon=1000, method="identity"))
    release = counted(desk.release(HOME, desk.published(HOME, order).entry))  # noise is 0 but for e^−1000
    cells = [release.cell(**{name: key}).value for key in FORMS[name]]
    assert cells == pytest.approx([truth((name,), (key,)) for key in KEYS[name]])
    assert sum(cells) == pytest.approx(ROWS)


def test_a_day_is_found_by_its_date_and_by_its_text(desk: Desk) -> None:
    order = ReleaseOrder.of("people", Wish.of("histogram", ("day",), epsilon=1000, method="identity"))
    release = counted(desk.release(HOME, desk.published(HOME, order).entry))
    assert release.cell(day=DAYS[1]).value == release.cell(day="2024-01-02").value == truth(("day",), ("2024-01-02",))


@pytest.mark.slow
def test_marginals_count_every_pair_of_keys(desk: Desk) -> None:
    pairs = (("day", "moment"), ("rate", "flag"), ("code", "word"), ("day", "rate"))
    wish = Wish.of("marginals", tuple(KEYS), epsilon=1000, tables=pairs)
    release = counted(desk.release(HOME, desk.published(HOME, ReleaseOrder.of("people", wish)).entry))
    for one, two in pairs:
        for i, first in enumerate(KEYS[one]):
            for j, second in enumerate(KEYS[two]):
                cell = release.cell(**{one: FORMS[one][i], two: FORMS[two][j]})
                assert cell.value == pytest.approx(truth((one, two), (first, second)), abs=1e-3)
