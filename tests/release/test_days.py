"""Days and moments in releases: bins of a calendar, and what is published of them, counted anew in plain Python."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from doubles import Seeded
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.declared.group_key import Type, number, since_1970
from discreet.errors import Refusal
from discreet.mechanisms import Column, Frame
from discreet.mechanisms.registry import digest
from discreet.release import Release, SyntheticRelease, Wish, publication
from discreet.release.calendar_bins import calendar, usual_calendar
from discreet.release.folder import checked, read
from discreet.sql.cell_numbers import _since_1970

EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # by the clock on the wall, as all here
DAYS, MOMENTS = ("2026-01-15", "2026-12-31"), ("1969-12-30 10:30:00", "1970-03-01 08:00:00")


CONNECTION = duckdb.connect()


def column(name: str, kind: Type, ends: tuple[str, str]) -> Column:
    return Column(name, kind, bounds=(number(ends[0], kind, ""), number(ends[1], kind, "")))


DAY, SEEN = column("day", Type.DATE, DAYS), column("seen", Type.TIMESTAMP, MOMENTS)
SEX = Column("sex", keys=("f", "m"))
KINDS = st.sampled_from([Type.DATE, Type.TIMESTAMP])
SAME: dict[str, Callable[[dt.datetime], object]] = {
    "hour": lambda at: (at.date(), at.hour),
    "day": lambda at: at.date(),
    "week": lambda at: at.isocalendar()[:2],
    "month": lambda at: (at.year, at.month),
    "quarter": lambda at: (at.year, (at.month - 1) // 3),
    "year": lambda at: at.year,
    "decade": lambda at: at.year // 10,
}


@given(st.sampled_from(sorted(SAME)), KINDS, st.integers(-40_000, 40_000), st.integers(1, 400))
def test_two_days_are_in_one_bin_if_they_are_in_one_week_or_month_or_whatever_it_is(
    unit: str, kind: Type, first: int, span: int
) -> None:
    scale, length = (1, dt.timedelta(days=1)) if kind is Type.DATE else (3600, dt.timedelta(seconds=1))
    bounded = Column("it", kind, bounds=(first * scale, (first + span) * scale))
    assert bounded.line is not None
    if unit == "hour" and kind is Type.DATE:
        with pytest.raises(Refusal, match="hours were asked for"):
            calendar("it", bounded.line, kind, unit)
        return
    bins = calendar("it", bounded.line, kind, unit)
    assert (bins.edges[0], bins.edges[-1]) == (bounded.line.low, bounded.line.high + 1)
    begins = set(bins.edges[1:-1])
    assert all(edge % scale == 0 for edge in begins)
    for step in range(bounded.line.low + scale, bounded.line.high + 1, scale):  # days, or whole hours
        new = SAME[unit](EPOCH + (step - 1) * length) != SAME[unit](EPOCH + step * length)
        assert (step in begins) == new


@given(st.integers(-300_000, 1_000_000), st.integers(1, 2_000_000), st.sampled_from([1, 2, 16, 64]), KINDS)
def test_there_are_no_more_usual_bins_than_there_may_be(first: int, span: int, most: int, kind: Type) -> None:
    scale = 1 if kind is Type.DATE else 86_399
    bounded = Column("it", kind, bounds=(first * scale, (first + span) * scale))
    assert bounded.line is not None
    bins = usual_calendar("it", bounded.line, kind, most)
    assert 1 <= len(bins) <= most
    assert (bins.edges[0], bins.edges[-1]) == (bounded.line.low, bounded.line.high + 1)
    if span >= 2 * most:
        assert len(bins) >= most / 32 or most <= 16  # a year has 12 months, and a decade ten years


# counting -------------------------------------------------------------------------------------------------------------

SHOWN: list[dict[str, Any]] = [
    {"day": None, "seen": None},
    {"day": "1900-01-01", "seen": "1969-12-30 10:29:59.9"},
    {"day": "2026-01-15", "seen": "1969-12-30 10:30:00"},
    {"day": "2026-01-31", "seen": "1969-12-31 23:59:59.999999"},
    {"day": "2026-02-01", "seen": "1970-01-01 00:00:00"},
    {"day": "2026-02-28", "seen": "1970-01-31 23:59:59.5"},
    {"day": "2026-12-31", "seen": "1970-02-01 00:00:00"},
    {"day": "9999-12-31", "seen": "2200-01-01 00:00:00"},
]
IN_MONTHS = [2 + 1, 1 + 1, *[0] * 9, 2]  # by hand: January has what was before it, December what is after it
IN_SEEN = [1 + 1 + 1, 1 + 1, 1, 1]  # 1969, January, February, March


def home(folder: Path, rows: list[dict[str, Any]], **more: Any) -> Any:  # noqa: ANN401
    table = pa.table(
        {
            "day": pa.array([row["day"] for row in rows]).cast(pa.date32()),
            "seen": pa.array([row["seen"] for row in rows]).cast(pa.timestamp("us")),
            "sex": pa.array([row.get("sex", "f") for row in rows]),
        }
    )
    made = dp.create(folder / "home")
    bounds = {"day": DAYS, "seen": MOMENTS}
    made.add("stays", table, unit="row", epsilon=10**6, delta="1e-6", bounds=bounds, keys={"sex": ["f", "m"]}, **more)
    return made


@pytest.mark.parametrize("values", ["python", "numpy", "text"])
def test_a_frame_counts_days_and_moments_by_the_month(values: str) -> None:
    def cells(name: str, unit: str) -> Any:  # noqa: ANN401
        texts = [row[name] for row in SHOWN]
        if values == "text":
            return texts
        array = np.array(["NaT" if text is None else text for text in texts], dtype=f"datetime64[{unit}]")
        return array if values == "numpy" else array.astype(object)

    frame = Frame.of({"day": cells("day", "D"), "seen": cells("seen", "us")}, DAY, SEEN)
    assert DAY.line is not None
    assert SEEN.line is not None
    by_day = frame.counts([calendar("day", DAY.line, Type.DATE, "month")])
    assert by_day.tolist() == IN_MONTHS
    assert frame.counts([calendar("seen", SEEN.line, Type.TIMESTAMP, "month")]).tolist() == IN_SEEN
    strange = Frame.of({"day": np.array([7, "soon", dt.date(2026, 3, 3), b"2026-03-03"], dtype=object)}, DAY)
    assert strange.counts([calendar("day", DAY.line, Type.DATE, "year")]).tolist() == [1]


@given(st.sampled_from([DAY, SEEN]), st.integers(-(10**12), 10**12))
def test_an_engine_reads_every_time_as_a_frame_does_and_an_infinite_one_as_none(made: Column, ticks: int) -> None:
    at = max(dt.datetime.min, min(dt.datetime.max, EPOCH + dt.timedelta(seconds=ticks / 64)))  # noqa: DTZ901
    value: Any = at.date() if made.type is Type.DATE else at
    assert made.line is not None
    text = _since_1970("x", made.type, made.line)

    def told(given: str) -> Any:  # noqa: ANN401
        row = CONNECTION.execute(f"SELECT {text} FROM (SELECT CAST({given} AS {made.type.value}) AS x)").fetchone()
        assert row is not None
        return row[0]

    since = since_1970(value, made.type)
    assert since is not None
    assert told(f"'{value}'") == max(made.line.low, min(made.line.high, since))
    assert [told("'infinity'"), told("'-infinity'"), told("NULL")] == [None] * 3


def test_an_engine_counts_what_a_frame_counts(tmp_path: Path) -> None:
    db = home(tmp_path, SHOWN)
    source = "SELECT day, seen FROM stays"
    made = db.release(db.publish(source, kind="histogram", columns=["day"], epsilon=10**5, bins={"day": "month"}).entry)
    assert made.counts().tolist() == IN_MONTHS
    wish: dict[str, Any] = {"kind": "histogram", "columns": ["seen"], "epsilon": 10**5, "bins": {"seen": "month"}}
    assert db.release(db.publish(source, **wish).entry).counts().tolist() == IN_SEEN
    told = db.release(db.publish(source, **wish).entry)
    assert told.line is None  # there are no quantiles of moments
    assert told.cell(seen="1970-01-05 01:00").value == 2
    assert told.table().column("seen_from").to_pylist()[1] == EPOCH
    assert Release.from_json(told.to_json()).to_json() == told.to_json()


# synthetic rows -------------------------------------------------------------------------------------------------------


def people(many: int = 3000) -> list[dict[str, Any]]:
    """Women come in spring, men in autumn; every tenth day is missing."""
    rows = []
    for i in range(many):
        day = dt.date(2026, 3 if i % 2 else 9, 1 + i % 28)
        seen = EPOCH + dt.timedelta(days=10 + 20 * (i % 2), seconds=i)
        rows.append({"day": None if i % 10 == 9 else str(day), "seen": str(seen), "sex": "fm"[i % 2]})
    return rows


def test_rows_have_days_and_moments_in_every_file_and_can_be_asked_in_sql(tmp_path: Path) -> None:
    db = home(tmp_path, people())
    bins = {"day": "month", "seen": "week"}
    made = db.publish("stays", kind="synthetic", columns=["day", "seen", "sex"], epsilon=50, delta="1e-9", bins=bins)
    db.certified(made.entry, tmp_path / "out")
    assert checked(tmp_path / "out")
    rows = pq.read_table(tmp_path / "out" / "rows.parquet")
    assert [rows.schema.field(name).type for name in ("day", "seen")] == [pa.date32(), pa.timestamp("us")]
    months = Counter((sex, day.month) for sex, day in zip(*(rows[x].to_pylist() for x in ("sex", "day"))) if day)  # noqa: B905
    assert months["f", 9] > 1000
    assert months["m", 3] > 1000
    assert abs(rows["day"].null_count - 300) < 60
    assert {sex: max((n, m) for (s, m), n in months.items() if s == sex)[1] for sex in "fm"} == {"f": 9, "m": 3}
    lines = list(csv.DictReader(io.StringIO((tmp_path / "out" / "rows.csv").read_text())))
    for line, row in zip(lines, rows.to_pylist(), strict=True):
        assert line["day"] == ("" if row["day"] is None else str(row["day"]))
        assert line["seen"] == ("" if row["seen"] is None else str(row["seen"]))
    release = read(tmp_path / "out")[0]
    drawn = release.draw(50, where={"day": ("2026-09-05", "2026-09-08")})  # type: ignore[attr-defined]
    assert {day.day for day in drawn["day"].to_pylist()} <= {5, 6, 7}
    db.add("made_up", rows, public=True)
    answer = db.query(
        "SELECT extract(month FROM day) AS m, count(*) AS n FROM made_up WHERE day IS NOT NULL GROUP BY m"
    )
    assert dict(answer.rows)[9] == sum(n for (_, month), n in months.items() if month == 9)


@pytest.mark.parametrize("cut", [{}, {"day": "week"}, {"day": 12, "seen": "private:6"}, {"seen": "hour"}])
def test_every_day_lies_in_its_bin_and_what_is_read_is_what_was_written(cut: dict[str, Any]) -> None:
    rows = people(400)
    values: dict[str, Any] = {name: [row[name] for row in rows] for name in ("day", "seen", "sex")}
    frame = Frame.of(values, DAY, SEEN, SEX)
    wish = Wish.of("synthetic", ("day", "seen", "sex"), rho=2, bins=cut)
    told = publication(frame, wish)(frame, rng=Seeded(3))
    assert isinstance(told, SyntheticRelease)
    for name, kind in (("day", Type.DATE), ("seen", Type.TIMESTAMP)):
        side, place = told.side(name), told.columns.index(name)
        for value, cell in zip(told.rows()[name].to_pylist(), told.content.rows[:, place].tolist(), strict=True):
            assert (value is None) == (cell == len(side) - 1)
            assert value is None or side.place(str(value)) == cell
            ends = DAYS if kind is Type.DATE else MOMENTS
            assert value is None or ends[0] <= str(value) <= ends[1]
    again = Release.from_json(told.to_json())
    assert again == told
    assert again.rows().equals(told.rows())  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("bins", "says"),
    [
        ({"day": "hour"}, "has days, and hours were asked for"),
        ({"day": "0:10:1"}, "expected bins of 'day', which has dates"),
        ({"day": "2026-05-01"}, "at least two edges"),
        ({"day": "2026-05-01,2026-04-01"}, "rising edges"),
        ({"day": "2026-05-01,2026-13-01"}, "'2026-13-01' is not a date"),
        ({"day": "2025-05-01,2026-04-01"}, "declared bounds"),
        ({"pay": "month"}, "has numbers, and its bins were to be month"),
        ({"pay": "2026-05-01,2026-06-01"}, "has numbers"),
    ],
)
def test_what_cannot_be_cut_so_is_refused_by_name(bins: dict[str, Any], says: str) -> None:
    pay = Column("pay", bounds=(0, 10), step=1)
    frame = Frame.of({"day": [], "pay": []}, DAY, pay)
    with pytest.raises(Refusal, match=says):
        publication(frame, Wish.of("synthetic", ("day", "pay"), rho=1, bins=bins))


def test_bounds_of_days_can_be_days() -> None:
    first, last = dt.date(2026, 1, 15), dt.date(2026, 12, 31)
    assert Column("day", bounds=(first, last)) == DAY == Column("day", Type.DATE, bounds=DAYS)
    assert Column("day", bounds=(EPOCH, EPOCH + dt.timedelta(1))) == Column("day", Type.TIMESTAMP, bounds=(0, 86_400))
    with pytest.raises(Refusal, match="low < high"):
        Column("day", bounds=(last, first))


def test_other_bounds_of_days_are_another_question() -> None:
    other = Column("day", Type.DATE, bounds=(0, Fraction(400)))
    assert digest(DAY) != digest(other)
    assert digest(DAY) != digest(Column("day", Type.TIMESTAMP, DAY.bounds))
