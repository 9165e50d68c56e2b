"""A key has one form from plan to answer: of each type, declared, in CASE, from a public table, chosen, filtered.

Answers are compared with plain DuckDB at a price at which the noise is nothing, when they are bought and when they are
read back from the ledger.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import hospital
import pyarrow as pa
import pytest

from discreet.curator import Curator
from discreet.curator.catalogue import parse, text_of
from discreet.curator.custody import Custody, Declared, found_home
from discreet.desk.practice_home import made_up
from discreet.errors import Refusal

DAYS = [dt.date(2024, 1, day) for day in range(1, 6)]
MOMENTS = [dt.datetime(2024, 1, 1, 10), dt.datetime(2024, 1, 1, 10, 30, 0, 500_000), dt.datetime(2024, 1, 2)]  # noqa: DTZ001
MONEY = pa.decimal128(6, 2)
VALUES: dict[str, tuple[list[object], pa.DataType]] = {
    "day": ([*DAYS, None], pa.date32()),
    "moment": ([*MOMENTS, None], pa.timestamp("us")),
    "rate": ([Decimal("0.50"), Decimal("1.00"), Decimal("1.25"), Decimal("0.00"), None], MONEY),
    "ratio": ([0.1, -0.0, 0.0, 2.0, float("nan"), None], pa.float64()),
    "flag": ([True, False, None], pa.bool_()),
    "code": ([1, 2, 3, None], pa.int64()),
    "word": (["a", " a", "A", "b ", "", None], pa.string()),
}
KEYS = {
    "day": ["2024-1-1", "2024-01-02", "2024-1-3"],
    "moment": ["2024-01-01T10:00", "2024-01-01 10:30:00.5", "2024-01-02"],
    "rate": ["0.5", "1.0", "1.250", "-0"],
    "ratio": ["0.10", "0", "2"],
    "flag": ["t", "FALSE"],
    "code": ["01", "2"],
    "word": ["a", " a", "A"],
}
PEOPLE = 400


def people() -> pa.Table:
    """A row for each person; beside every column a twin of which no keys are declared."""
    rng = random.Random(8)
    cells = {name: [rng.choice(values) for _ in range(PEOPLE)] for name, (values, _) in VALUES.items()}
    columns = {name: pa.array(cell, VALUES[name][1]) for name, cell in cells.items()}
    return pa.table({"person": range(PEOPLE), **columns, **{f"free_{name}": columns[name] for name in VALUES}})


def every() -> pa.Table:
    """A public table of the values of each column, one that nobody has, and NULL."""
    more: dict[str, object] = {
        "day": dt.date(2030, 1, 1), "moment": dt.datetime(2030, 1, 1, 1, 1), "rate": Decimal("7.50"),  # noqa: DTZ001
        "ratio": 7.5, "flag": None, "code": 9, "word": "c",
    }  # fmt: skip
    cells = {name: [more[name], *(value for value in VALUES[name][0] if value == value)] for name in VALUES}  # noqa: PLR0124  # no NaN
    most = max(map(len, cells.values()))
    return pa.table(
        {name: pa.array([*cell, *[None] * (most - len(cell))], VALUES[name][1]) for name, cell in cells.items()}
    )


Asked = tuple[Curator, duckdb.DuckDBPyConnection, Curator]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    folder = tmp_path_factory.mktemp("keys") / "home"
    found_home(folder)
    custody, tables = Custody(folder), {"people": people(), "every": every()}
    said = Declared(
        unit="person", epsilon=10**30, delta="1e-3", max_rows=9, max_groups=9, keys=KEYS, bounds={"code": (0, 9)}
    )
    custody.add("people", tables["people"], said)
    custody.add("every", tables["every"], Declared(public=True))
    with hospital.plain(tables, {}) as plain:
        yield Curator(folder), plain, Curator(folder)


def agree(asked: Asked, ours: str, theirs: str | None = None) -> None:
    """The same rows as plain DuckDB has, bought now and read back from the ledger by a curator who knows nothing."""
    curator, plain, another = asked
    truth = plain.execute(theirs or ours).fetchall()
    assert truth
    assert any(cell for row in truth for cell in row)
    bought = hospital.exactly(curator, ours)
    assert not hospital.unlike(bought, truth)
    again = another.query(ours, epsilon=hospital.DEAR, delta="1e-9")
    assert again.cost is None
    assert list(again.rows) == bought
    assert [type(cell) for row in again.rows for cell in row] == [type(cell) for row in bought for cell in row]


KIND = {"day": "date", "moment": "timestamp", "rate": "double", "ratio": "double", "flag": "boolean", "code": "bigint"}


def listed(name: str) -> str:
    """The declared keys as plain DuckDB reads them."""
    return ", ".join(f"CAST('{key}' AS {KIND.get(name, 'varchar')})" for key in KEYS[name])


@pytest.mark.parametrize("name", VALUES)
def test_declared_keys_are_found_however_they_are_spelled(asked: Asked, name: str) -> None:
    plain = f"SELECT CAST({name} AS {KIND.get(name, 'varchar')}), count(*) FROM people"
    ours = f"SELECT {name}, count(*) FROM people GROUP BY {name} ORDER BY 1"
    agree(asked, ours, f"{plain} WHERE {name} IN ({listed(name)}) GROUP BY 1 ORDER BY 1")


@pytest.mark.parametrize("name", VALUES)
def test_the_values_of_a_public_table_are_keys(asked: Asked, name: str) -> None:
    agree(
        asked,
        f"SELECT e.{name}, count(p.person), sum(p.code) FROM every e LEFT JOIN people p ON e.{name} = p.free_{name} "
        f"GROUP BY e.{name} ORDER BY 1",
        f"SELECT e.{name}, count(p.person), coalesce(sum(p.code), 0) FROM every e LEFT JOIN people p "
        f"ON e.{name} = p.free_{name} GROUP BY e.{name} ORDER BY 1",
    )


@pytest.mark.parametrize("name", [name for name in VALUES if name not in ("rate", "ratio", "flag")])
def test_keys_that_are_chosen_privately_come_out_as_they_are(asked: Asked, name: str) -> None:
    agree(asked, f"SELECT free_{name}, count(*) FROM people GROUP BY 1 ORDER BY 1 NULLS LAST")
    agree(asked, f"SELECT free_{name}, flag, count(*) FROM people WHERE flag IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2")


def test_numbers_with_digits_after_the_point_need_declared_keys(asked: Asked) -> None:
    with pytest.raises(Refusal, match="digits after the point"):
        hospital.exactly(asked[0], "SELECT free_ratio, count(*) FROM people GROUP BY 1")
    agree(asked, "SELECT free_word, rate, count(*) FROM people WHERE rate >= 0 GROUP BY 1, 2 ORDER BY 1, 2")


CASES = {
    "timestamps": "CASE code WHEN 1 THEN TIMESTAMP '2024-01-01 10:00' WHEN 2 THEN TIMESTAMP '2024-01-01T10:00:00.50' "
    "ELSE DATE '2024-01-03' END",
    "dates": "CASE WHEN code = 1 THEN DATE '2024-1-5' WHEN code = 2 THEN DATE '2024-01-05' ELSE DATE '2023-12-31' END",
    "a moment or none": "CASE WHEN flag THEN TIMESTAMP '2024-05-05 05:05:05' END",
    "numbers": "CASE code WHEN 1 THEN 0.5 WHEN 2 THEN 1 WHEN 3 THEN 1.0 END",
    "moments moved": "CASE WHEN code > 1 THEN TIMESTAMP '2024-01-01' + INTERVAL '36' HOUR END",
    "truth": "CASE WHEN code = 1 THEN TRUE WHEN code = 2 THEN FALSE END",
    "whole": "CASE WHEN code = '01' THEN 10 ELSE 20 END",
    "text": "CASE WHEN code = 1 THEN 'a' WHEN code = 2 THEN ' a' ELSE 'A' END",
}


@pytest.mark.parametrize("key", CASES.values(), ids=CASES)
def test_constants_of_case_are_keys(asked: Asked, key: str) -> None:
    agree(asked, f"SELECT {key} AS k, count(*) FROM people GROUP BY 1 ORDER BY 1 NULLS LAST")


@pytest.mark.parametrize(
    "condition",
    [
        "day IN ('2024-1-1', DATE '2024-01-02')",
        "moment IN ('2024-01-01T10:00', '2024-01-01 10:30:00.50')",
        "moment = '2024-1-2' OR free_day <> '2024-1-3'",
        "flag = 't' AND code IN ('01', 2)",
        "rate = '0.50' OR rate IN ('1', 1.250)",
        "day BETWEEN '2024-1-2' AND '2024-01-4'",
        "word IN ('a', 'b ') AND code <> '02'",
        "day IN (SELECT day FROM every WHERE day > '2024-1-2')",
        "day IN (SELECT max(day) FROM every WHERE day < '2024-1-4')",
        "moment IN (SELECT max(moment) FROM every WHERE moment < '2024-1-2')",
    ],
)
def test_a_filter_means_the_value_whatever_its_spelling(asked: Asked, condition: str) -> None:
    agree(asked, f"SELECT count(*) FROM people WHERE {condition}")


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("day = 'soon'", "'soon' is not a date"),
        ("moment = '2024-01-01 10:00+01'", "is not a timestamp"),
        ("code = '1.5'", "'1.5' is not a bigint"),
        ("flag = 'perhaps'", "'perhaps' is not a boolean"),
        ("rate IN ('1', 'one')", "'one' is not a double"),
    ],
)
def test_a_constant_of_another_type_is_refused_by_its_name(asked: Asked, condition: str, said: str) -> None:
    with pytest.raises(Refusal, match=said):
        asked[0].explain(f"SELECT count(*) FROM people WHERE {condition}", epsilon=1)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"day": ["2024-01-01", "Monday"]}, "column 'day': 'Monday' is not a date"),
        ({"code": ["1", "1.5"]}, "column 'code': '1.5' is not a bigint"),
        ({"flag": ["true", "maybe"]}, "column 'flag': 'maybe' is not a boolean"),
        ({"moment": ["2024-01-01T10:00", "2024-01-01 10:00:00"]}, "declares the key '2024-01-01 10:00:00' twice"),
        ({"rate": ["0.5", "nan"]}, "column 'rate': 'nan' is not a double"),
    ],
)
def test_keys_of_another_type_are_refused_when_a_table_comes(
    tmp_path: Path, keys: dict[str, list[str]], said: str
) -> None:
    found_home(tmp_path / "home")
    with pytest.raises(Refusal, match=said):
        Custody(tmp_path / "home").add("people", people(), Declared(unit="person", epsilon=1, max_rows=1, keys=keys))


def test_what_is_declared_is_written_in_one_form_and_read_back(asked: Asked) -> None:
    curator = asked[0]
    text = text_of(curator.declared())
    assert 'keys = ["2024-01-01", "2024-01-02", "2024-01-03"]' in text
    assert 'keys = ["0.5", "1", "1.25", "0"]' in text
    assert parse(text) == curator.declared()
    table = next(table for table in curator.tables() if table.name == "people")
    assert table.column("moment").keys == ("2024-01-01 10:00:00", "2024-01-01 10:30:00.500000", "2024-01-02 00:00:00")
    rows = made_up(table)
    assert set(rows.column("moment").to_pylist()) == set(MOMENTS)
    assert set(rows.column("rate").to_pylist()) == {0.5, 1.0, 1.25, 0.0}
