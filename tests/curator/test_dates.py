"""Bounds on dates and timestamps: declared, kept, and used where those of a number would be."""

from __future__ import annotations

import datetime as dt
import random
import re
from fractions import Fraction
from pathlib import Path

import duckdb
import hospital
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from discreet.cli.commands import app
from discreet.curator import Curator
from discreet.curator.catalogue import read
from discreet.curator.custody import Custody, Declared, found_home
from discreet.declared.group_key import Type, number, written
from discreet.desk import HOME, Desk, ReleaseOrder
from discreet.errors import Refusal
from discreet.mechanisms import Bins
from discreet.release import Wish
from discreet.release.counting_mechanism import Publication
from discreet.sql.expression_facts import years
from discreet.sql.value_range import Range

DAYS = ("2015-01-01", "2024-12-31")
MOMENTS = ("2020-01-01 00:00:00", "2020-12-31 23:59:59")
BOUNDS = {"Admitted": DAYS, "left": DAYS, "seen": MOMENTS}


def stays(people: int = 300) -> pa.Table:
    rng, first = random.Random(3), dt.date(2015, 1, 1)
    moments = [dt.datetime(2020, 1, 1) + dt.timedelta(seconds=rng.randrange(3 * 10**7)) for _ in range(people)]  # noqa: DTZ001
    days = [[first + dt.timedelta(days=rng.randrange(3600)) for _ in range(people)] for _ in range(2)]
    return pa.table({
        "who": list(range(people)),
        "Admitted": [None if i % 37 == 0 else day for i, day in enumerate(days[0])],
        "left": days[1],
        "seen": moments,
        "free": days[0],
        "sex": [rng.choice("fm") for _ in range(people)],
    })  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dates") / "home"
    found_home(folder)
    said = Declared(unit="who", epsilon=10**21, delta="1e-3", max_rows=1, bounds=BOUNDS, keys={"sex": ["f", "m"]})
    Custody(folder).add("stays", stays(), said)
    return folder


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT min(admitted), max(admitted), max(stays.left) FROM stays",
        "SELECT sex, percentile_disc(0.25) WITHIN GROUP (ORDER BY admitted) FROM stays GROUP BY sex ORDER BY sex",
        "SELECT max(seen), min(seen) FROM stays",
        "SELECT avg(stays.left - admitted), sum(stays.left - admitted) FROM stays",
        "SELECT avg(admitted - DATE '2020-01-01') FROM stays",
        "SELECT avg(extract(epoch FROM seen)) FROM stays",
        "SELECT max(extract(epoch FROM admitted)) FROM stays",
        "SELECT avg(extract(year FROM admitted)) FROM stays",
        "SELECT max(admitted) - min(admitted) FROM stays",
        "SELECT sex, max(admitted) FROM stays GROUP BY sex HAVING max(admitted) > DATE '2016-01-01' ORDER BY sex",
        "SELECT max(free) FROM stays WHERE free >= DATE '2016-01-01' AND free < DATE '2018-01-01'",
        "SELECT max(date_trunc('month', admitted)), min(date_trunc('year', seen)) FROM stays",
        "SELECT max(admitted + 10), min(admitted - 400) FROM stays",
        "SELECT max(admitted + INTERVAL '5' MONTH), min(seen - INTERVAL '3' HOUR) FROM stays",
        "SELECT max(LEAST(GREATEST(free, DATE '2019-01-01'), DATE '2019-06-30')) FROM stays",
        "SELECT max(m) FROM (SELECT who, max(admitted) AS m FROM stays GROUP BY who) t",
        "SELECT max(CASE WHEN sex = 'f' THEN admitted END) FROM stays",
        "SELECT max(CAST(seen AS DATE)), max(CAST(admitted AS TIMESTAMP)) FROM stays",
        "SELECT max(seen + INTERVAL '100' YEAR), min(seen - INTERVAL '200' YEAR) FROM stays",
        "SELECT min(TIMESTAMP '0001-01-01 00:00:00'), max(TIMESTAMP '9999-12-31 23:59:59') FROM stays",
    ],
)
def test_the_answer_is_that_of_an_engine_without_noise(home: Path, sql: str) -> None:
    with duckdb.connect() as plain:
        plain.register("stays", stays())
        theirs = plain.execute(sql).fetchall()
    assert not hospital.unlike(hospital.exactly(Curator(home), sql), theirs)


def test_bounds_are_kept_as_they_were_written(home: Path) -> None:
    columns = {column.name: column for column in read(home).tables["stays"].columns}
    assert 'bounds = ["2015-01-01", "2024-12-31"]' in (home / "discreet.toml").read_text()
    assert columns["Admitted"].bounds == (Fraction(16436), Fraction(20088))
    told = CliRunner().invoke(app, ["tables", "stays", "--home", str(home), "--format", "csv"]).output
    assert "2015-01-01:2024-12-31" in told
    assert "2020-01-01 00:00:00:2020-12-31 23:59:59" in told


def test_values_beyond_the_bounds_are_clamped(tmp_path: Path) -> None:
    found_home(tmp_path / "home")
    bounds = {"admitted": ("2017-01-01", "2017-12-31"), "seen": ("2020-03-01 00:00:00", "2020-03-01 12:00:00")}
    Custody(tmp_path / "home").add("stays", stays(), Declared(unit="who", epsilon=10**21, max_rows=1, bounds=bounds))
    ((early, late, moment),) = hospital.exactly(
        Curator(tmp_path / "home"), "SELECT min(admitted), max(admitted), max(seen) FROM stays"
    )
    assert (early, late) == (dt.date(2017, 1, 1), dt.date(2017, 12, 31))
    assert moment == dt.datetime(2020, 3, 1, 12)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT max(free) FROM stays", "free has no bounds"),
        ("SELECT avg(admitted) FROM stays", "only numbers can be summed"),
        ("SELECT max(sex) FROM stays", "only numbers and dates are ranked"),
        ("SELECT avg(CAST(admitted AS BIGINT)) FROM stays", "date never becomes bigint"),
        ("SELECT avg(stays.left - free) FROM stays", "has no bounds"),
    ],
)
def test_what_has_no_answer_is_refused_with_a_way_out(home: Path, sql: str, says: str) -> None:
    with pytest.raises(Refusal, match=says) as refused:
        Curator(home).explain(sql, epsilon=1)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        (("2015-01-01", "yesterday"), "'yesterday' is not a date"),
        (("2015-01-01", "2014-01-01"), "low < high"),
        (("2015-02-30", "2016-01-01"), "'2015-02-30' is not a date"),
    ],
)
def test_bounds_that_are_none_are_refused(home: Path, bounds: tuple[str, str], says: str) -> None:
    with pytest.raises(Refusal, match=says):
        Custody(home).rehearse("more", stays(), Declared(unit="who", max_rows=1, bounds={"admitted": bounds}))


def test_a_table_is_added_with_them_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "stays.csv").write_text("who,day,at\n1,2020-05-05,2020-05-05 12:00:00\n2,2021-01-01,\n")
    home = str(tmp_path / "home")
    runner = CliRunner()
    runner.invoke(app, ["init", home])
    added = ["add", "stays", str(tmp_path / "stays.csv"), "--home", home, "--unit", "who", "--epsilon", "1000000000"]
    added += ["--types", "who=bigint", "--types", "day=date", "--types", "at=timestamp", "--max-rows", "1"]
    added += ["--bounds", "day=2020-01-01:2021-12-31", "--bounds", "at=2020-01-01 00:00:00:2020-12-31 00:00:00"]
    assert runner.invoke(app, added).exit_code == 0
    sql = "SELECT avg(day - DATE '2020-01-01') AS n, max(day) AS d, max(at) AS m FROM stays"
    said = runner.invoke(
        app, ["query", sql, "--epsilon", "100000000", "--home", home, "--format", "csv", "--no-intervals"]
    )
    days, latest, moment = said.stdout.splitlines()[1].split(",")[:3]
    assert float(days) == pytest.approx((125 + 366) / 2, abs=0.01)
    assert DAYS[0] < latest < "2022-01-01"
    assert MOMENTS[0] <= moment <= MOMENTS[1]


def test_a_moment_that_is_rounded_out_of_every_year_has_no_answer_and_its_bounds_are_told(home: Path) -> None:
    moment = "TIMESTAMP '9999-12-31 23:59:59.999999'"
    inner = f"SELECT who, first_value({moment}) OVER (PARTITION BY who ORDER BY who) AS late FROM stays"
    told = Curator(home).query(f"SELECT median(late) FROM ({inner}) t", epsilon=10**6)
    assert told.rows == ((None,),)
    assert "above 9999-12-31 23:59:59.999999 as" in told.bounding
    assert written(Fraction(-(10**9)), Type.DATE) == "0001-01-01"


@pytest.mark.parametrize("kind", [Type.DATE, Type.TIMESTAMP])
def test_a_moment_and_its_number_are_one_another(kind: Type) -> None:
    rng = random.Random(8)
    for _ in range(200):
        moment = dt.datetime(1, 1, 1) + dt.timedelta(seconds=rng.randrange(9998 * 365 * 86400))  # noqa: DTZ001
        text = moment.date().isoformat() if kind is Type.DATE else moment.isoformat(" ")
        assert written(number(text, kind, "it"), kind) == text
        assert years(Range(number(text, kind, "it"), None), kind).low == moment.year


@pytest.mark.parametrize(
    ("kind", "columns"),
    [("ranges", ["Admitted"]), ("histogram", ["sex", "seen"]), ("marginals", ["sex", "Admitted", "seen"])],
)
def test_days_and_moments_with_bounds_are_cut_into_bins_of_a_calendar(
    home: Path, kind: str, columns: list[str]
) -> None:
    offer = Desk(home).offered(HOME, _released("stays", columns, kind))
    assert isinstance(offer.run.mechanism, Publication)
    times = {name: axis for name, axis in zip(columns, offer.run.mechanism.axes, strict=True) if name != "sex"}
    assert all(isinstance(axis, Bins) and len(axis) >= 5 for axis in times.values())


@pytest.mark.parametrize("kind", ["ranges", "marginals"])
def test_a_release_of_days_without_bounds_says_what_is_counted_instead_and_that_works(home: Path, kind: str) -> None:
    columns = ["free"] if kind == "ranges" else ["sex", "free"]
    desk = Desk(home)
    with pytest.raises(Refusal, match=r"'free' has (date|timestamp)s, and neither declared keys nor") as refused:
        desk.offered(HOME, _released("stays", columns, kind))
    [(select, name)] = re.findall(r"(extract\(.*?\) AS (\w+))", refused.value.hint)
    rest = columns[:-1]
    desk.offered(HOME, _released(f"SELECT {', '.join([*rest, select])} FROM stays", [*rest, name], kind))


def _released(source: str, names: list[str], kind: str) -> ReleaseOrder:
    return ReleaseOrder.of(source, Wish.read({"kind": kind, "columns": names, "epsilon": 1}))
