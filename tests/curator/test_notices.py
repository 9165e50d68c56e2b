"""Every answer says what it leaves out, every question what in it is hardly meant: from the plan, never from a row."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import clinic
import pyarrow as pa
import pytest
from clinic import COUNT
from covering import Coverage
from doubles import Seeded
from scipy import stats

from discreet.curator import Curator
from discreet.curator.custody import Custody, Declared
from discreet.curator.explain import COVERED
from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.declared.table import Schema, Table
from discreet.mechanisms import GaussianKeys, LaplaceKeys
from discreet.sql.split_at_noise import question
from discreet.sql.unmatched_constants import doubts

CAP = "A person with more than 5 rows counts with 5 of them, chosen at random once per table version."
GROUPS = "A person in more than 2 groups counts in 2 of them."
NEAR = "A quantile of cost need not be a value that a row has."
OWNERLESS = "Rows of visits in which patient is NULL are left out."
COST = "Values of cost below 0 count as 0, and above 1000 as 1000. Values of cost are rounded to steps of 0.01."
KEYS = "the declared keys of region (north, south, east)"
LOWER = KEYS.replace("region", "lower(region)")
BOUNDS = "the declared bounds of cost (0 to 1000)"
NO_COST = "Rows in which cost is NULL do not count for it."


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Curator:
    folder = clinic.home(tmp_path_factory.mktemp("notices") / "home", max_rows=5, max_groups=2)
    regions = pa.table({"place": ["north", "south"], "size": [1, 2]})
    Custody(folder).add("regions", regions, Declared(public=True))
    stays = pa.table({"patient": [1, 2], "nights": [3, 4], "fee": [0.5, 0.25]})
    Custody(folder).add(
        "stays", stays, Declared(unit="patient", max_rows=3, bounds={"nights": (0, 30), "fee": (0, 500)})
    )
    return Curator(folder)


@pytest.mark.parametrize(
    ("sql", "sentences"),
    [
        (COUNT, [CAP, OWNERLESS]),
        ("SELECT count(DISTINCT patient) FROM visits", [OWNERLESS]),
        ("SELECT sum(cost) FROM visits", [CAP, COST, NO_COST, OWNERLESS]),
        ("SELECT avg(cost), count(cost), stddev(cost) FROM visits", [CAP, COST, NO_COST, OWNERLESS]),
        ("SELECT median(cost) FROM visits", [CAP, COST, NO_COST, NEAR, OWNERLESS]),
        (
            "SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY cost) FROM visits",
            [CAP, COST, NO_COST, NEAR, OWNERLESS],
        ),
        ("SELECT sum(CASE WHEN urgent THEN 1 ELSE 0 END) FROM visits", [CAP, OWNERLESS]),
        ("SELECT count(*) FILTER (WHERE urgent) FROM visits", [CAP, OWNERLESS]),
        ("SELECT sum(cost) FILTER (WHERE urgent) FROM visits", [CAP, COST, NO_COST, OWNERLESS]),
        (
            "SELECT sum(cost * 2) FROM visits",
            [
                CAP,
                "Values of what is computed from cost below 0 count as 0, and above 2000 as 2000.",
                "Values of what is computed from cost are rounded to steps of 0.02.",
                "Rows in which what is computed from cost is NULL do not count for it.",
                OWNERLESS,
            ],
        ),
        (
            "SELECT region, count(*) FROM visits GROUP BY region",
            [CAP, GROUPS, "Rows in which region is NULL or none of its declared keys are in no group.", OWNERLESS],
        ),
        (
            "SELECT urgent, count(*) FROM visits GROUP BY urgent",
            [CAP, "Rows in which urgent is NULL are in no group.", OWNERLESS],  # of two groups nobody is in more
        ),
        (
            "SELECT CASE WHEN cost > 5 THEN 'dear' ELSE 'cheap' END AS how, count(*) FROM visits GROUP BY 1",
            [CAP, OWNERLESS],
        ),
        (
            "SELECT avg(t) FROM (SELECT patient, sum(cost) AS t FROM visits GROUP BY patient) AS each",
            [
                COST,
                NO_COST,
                "Values of t below 0 count as 0, and above 5000 as 5000.",
                "Values of t are rounded to steps of 0.01.",
                "Rows in which t is NULL do not count for it.",
                OWNERLESS,
            ],
        ),
        (
            "SELECT count(*) FROM visits JOIN regions ON region = place",
            [CAP, OWNERLESS, "Rows of visits that fit no row of regions are left out."],
        ),
        ("SELECT count(*) FROM regions", None),
    ],
)
def test_bounding_names_what_this_question_leaves_out(curator: Curator, sql: str, sentences: list[str] | None) -> None:
    told = curator.explain(sql, epsilon=1)
    assert told.bounding == ("" if sentences is None else " ".join([COVERED, *sentences]))
    assert curator.query(sql, epsilon=1).bounding == told.bounding
    assert [line for line in str(told).splitlines() if line.startswith("left out")] == (
        [] if sentences is None else [f"left out {told.bounding}"]
    )


def test_noise_is_told_in_the_units_of_its_column(tmp_path: Path) -> None:
    """Not in the steps in which it is drawn: what a person can move, over the part of the price that it has."""
    curator = Curator(clinic.home(tmp_path / "home", max_rows=5))  # costs from 0 to 1,000, in hundredths
    plan = curator.explain("SELECT sum(cost), variance(cost) FROM visits", epsilon=1).plan
    told = {}
    for line in plan:
        name, rest = line.split(": epsilon ")
        price, scale = rest.split("; noise of scale ")
        told[name] = Fraction(price) * Fraction(scale.lstrip("≈")) / 5
    assert told["rows with cost"] == pytest.approx(1, rel=1e-6)
    assert told["total of cost"] == pytest.approx(1000, rel=1e-6)
    assert told["total of cost about the middle"] == pytest.approx(500, rel=1e-6)
    assert told["squares of cost about the middle"] == pytest.approx(500**2, rel=1e-6)


def test_every_measured_number_is_told_with_its_column(curator: Curator) -> None:
    sql = (
        "SELECT count(*), count(cost), count(DISTINCT diagnosis), sum(cost), median(cost), stddev(cost), "
        "sum(CASE WHEN urgent THEN cost * 2 END), count(DISTINCT patient) FROM visits"
    )
    assert {line.partition(":")[0] for line in curator.explain(sql, epsilon=1).plan} == {
        "rows", "units", "rows with cost", "different values of diagnosis", "total of cost", "quantile 0.5 of cost",
        "total of cost about the middle", "squares of cost about the middle",
        "total of what is computed from urgent and cost",
    }  # fmt: skip


def test_a_join_names_both_sides(curator: Curator) -> None:
    told = curator.explain("SELECT sum(nights) FROM visits v JOIN stays s ON v.patient = s.patient", epsilon=1).bounding
    assert "Rows of visits and stays without a partner in the join are left out." in told
    assert "Values of nights below 0 count as 0, and above 30 as 30." in told
    assert "A person with more than 15 rows counts with 15 of them" in told


def test_rounding_is_told_unless_it_is_that_of_doubles(curator: Curator) -> None:
    """Whatever the noise is, enough rows would show it, and no error bar holds it."""
    for what in ("sum(fee)", "avg(fee)", "median(fee)"):
        told = curator.explain(f"SELECT {what} FROM stays", epsilon=1).bounding
        assert "Values of fee are rounded to steps of 0.000001." in told
    for what in ("sum(sqrt(fee))", "sum(nights)", "variance(fee / (nights + 1))"):
        assert "rounded" not in curator.explain(f"SELECT {what} FROM stays", epsilon=1).bounding


def test_a_cap_of_the_question_is_the_one_that_is_told(curator: Curator) -> None:
    told = curator.explain(COUNT, epsilon=1, max_rows=2).bounding
    assert "A person with more than 2 rows counts with 2 of them" in told
    assert "more than 5 rows" not in told


@pytest.mark.parametrize(
    ("condition", "notice"),
    [
        ("region = 'West'", f"'West' is none of {KEYS}, so no declared key passes."),
        ("'West' = region", f"'West' is none of {KEYS}, so no declared key passes."),
        ("region <> 'West'", f"'West' is none of {KEYS}, so every declared key passes."),
        ("region IN ('north', 'x')", f"'x' is none of {KEYS}, so it adds nothing."),
        ("region IN ('x', 'y')", f"'x', 'y' are none of {KEYS}, so no declared key passes."),
        ("region LIKE 'w%'", f"region LIKE 'w%' fits none of {KEYS}."),
        ("region ILIKE 'w_st'", f"region ILIKE 'w_st' fits none of {KEYS}."),
        ("lower(region) = 'North'", f"'North' is none of {LOWER}, so no declared key passes."),
        ("cost > 2000", f"2000 lies beyond {BOUNDS}, so no value within them passes."),
        ("cost < -1", f"-1 lies beyond {BOUNDS}, so no value within them passes."),
        ("cost < 2000", f"2000 lies beyond {BOUNDS}, so every value within them passes."),
        ("cost = 1000.5", f"1000.5 lies beyond {BOUNDS}, so no value within them passes."),
        ("cost BETWEEN 2000 AND 3000", f"2000, 3000 lie beyond {BOUNDS}, so no value within them passes."),
        ("CASE region WHEN 'West' THEN TRUE ELSE urgent END", f"'West' is none of {KEYS}, so no declared key passes."),
    ],
)  # fmt: skip
def test_a_constant_that_no_declared_value_meets_is_told_before_paying(
    curator: Curator, condition: str, notice: str
) -> None:
    sql = f"SELECT count(*) FROM visits WHERE {condition}"
    spent = curator.budget("patient").spent
    told = curator.explain(sql, epsilon=1)
    assert told.notices == (notice,)
    assert f"notice   {notice}" in str(told)
    assert curator.budget("patient").spent == spent
    assert curator.query(sql, epsilon="0.001").notices == (notice,)  # a notice, no refusal


@pytest.mark.parametrize(
    "condition",
    [
        "region = 'north'",
        "region LIKE '%th'",
        "region ILIKE 'NORTH'",
        "upper(region) = 'NORTH'",
        "region IS NULL",
        "cost >= 0 AND cost <= 1000",
        "cost BETWEEN 10 AND 20",
        "diagnosis = 'anything'",
        "cost > (SELECT avg(cost) * 50 FROM visits)",  # what was answered first is noisy, and nobody wrote it
    ],
)
def test_a_constant_that_can_be_met_is_not_talked_about(curator: Curator, condition: str) -> None:
    assert curator.explain(f"SELECT count(*) FROM visits WHERE {condition}", epsilon=1).notices == ()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(CASE region WHEN 'West' THEN cost ELSE 0 END) FROM visits",
        "SELECT count(*) FILTER (WHERE region = 'West') FROM visits",
        "SELECT count(*) FROM (SELECT region AS r, cost FROM visits) AS v WHERE r = 'West'",
        ("WITH v AS (SELECT * FROM visits) SELECT count(*) FROM v "
         "WHERE EXISTS (SELECT 1 FROM stays s WHERE s.patient = v.patient AND v.region = 'West')"),
        "SELECT region = 'West' AS there, count(*) FROM visits GROUP BY 1",
    ],
)  # fmt: skip
def test_it_is_told_wherever_the_constant_stands(curator: Curator, sql: str) -> None:
    assert [notice.split(" is none")[0] for notice in curator.explain(sql, epsilon=1).notices] == ["'West'"]


def test_dates_are_compared_by_what_they_mean() -> None:
    days = Column("day", Type.DATE, keys=("2024-01-01", "2024-01-02"))
    schema = Schema({"visits": Table("visits", (Column("patient", Type.BIGINT), days), "p", "patient", 5)})
    for text, told in (("2024-01-01", 0), ("2024-01-02 00:00:00", 0), ("2025-01-01", 1)):
        asked = question(f"SELECT count(*) FROM visits WHERE day = TIMESTAMP '{text}'", schema)
        bare = question(f"SELECT count(*) FROM visits WHERE day = '{text[:10]}'", schema)
        assert len(doubts(bare.parts[0].measurement)) == told
        assert len(doubts(asked.parts[0].measurement)) <= told  # a cast column is not looked through


def test_groups_below_the_threshold_are_told_with_their_number(curator: Curator) -> None:
    sql = "SELECT diagnosis, count(*) FROM visits GROUP BY diagnosis"
    told = curator.explain(sql, epsilon=1)
    (notice,) = told.notices  # half of the price and two groups a person: scale 4, no noise in 12 of 100 cases
    half, sure = (int(word) for word in (notice.split()[5], notice.split(" in 95")[0].split()[-1]))
    assert notice == (
        f"Groups with fewer than about {half} people are not shown: one of {half} is shown in 56 of 100 cases, "
        f"one of {sure} in 95 of 100 cases. Declare keys to see all."
    )
    answer = curator.query(sql, epsilon=1)
    assert notice in answer.bounding
    assert answer.notices == (notice,)
    dearer = curator.explain(sql, epsilon=20).notices[0]
    assert int(dearer.split()[5]) < half
    endless = curator.explain(sql, epsilon=900).notices[0]  # no noise to speak of: it is all or nothing
    assert endless == (
        "Groups with fewer than about 2 people are not shown: one of 2 in 95 of 100 cases. Declare keys to see all."
    )


@pytest.mark.parametrize(
    "keys", [LaplaceKeys(Fraction(2), Fraction(1, 1000)), GaussianKeys(Fraction(1), Fraction(1, 1000))]
)
def test_the_chance_of_a_group_at_the_threshold_is_what_it_is_drawn_with(keys: LaplaceKeys | GaussianKeys) -> None:
    rng, runs = Seeded(5), 4_000
    named = sum(len(list(keys({"a": keys.threshold}, rng=rng))) for _ in range(runs))
    assert stats.binom.cdf(named, runs, float(keys.chance)) > 1e-9
    assert stats.binom.sf(named - 1, runs, float(keys.chance)) > 1e-9
    assert stats.binom.sf(named - 1, runs, 0.5) < 1e-9  # "every second time" is refuted


def test_where_each_row_is_its_own_unit_rows_are_counted(tmp_path: Path) -> None:
    folder = clinic.home(tmp_path / "home", unit="row", max_rows=None, max_groups=None)
    told = Curator(folder).explain("SELECT diagnosis, count(*), sum(cost) FROM visits GROUP BY diagnosis", epsilon=1)
    assert " rows are not shown" in told.notices[0]
    assert "person" not in told.bounding


@pytest.mark.parametrize(
    "mechanism",
    [LaplaceKeys(Fraction(1, 2), Fraction(1, 10**6), 3), GaussianKeys(Fraction(1, 8), Fraction(1, 10**6), 3)],
)
def test_the_two_numbers_are_what_they_are_said_to_be(mechanism: LaplaceKeys | GaussianKeys) -> None:
    """4,000 groups of each size: shown in half of the cases and a little more, and in 95 of 100 (exact tails, 1e-9)."""
    rng, many = Seeded(4), 4000
    for people, low, high in (
        (mechanism.threshold - 1, 0.40, 0.5),
        (mechanism.threshold, 0.5, 0.60),
        (mechanism.error("0.95"), 0.95, 0.975),
    ):
        shown = Coverage(len(mechanism(dict.fromkeys(range(many), people), rng=rng)), many)
        assert not shown.refuted(low, 1e-10)
        assert not shown.exceeded(high, 1e-10)


def test_notices_are_the_same_for_unrelated_databases(tmp_path: Path) -> None:
    one = Curator(clinic.home(tmp_path / "a"))
    none = Curator(clinic.home(tmp_path / "b", clinic.table([])))
    for sql in (
        "SELECT diagnosis, avg(cost) FROM visits WHERE region = 'West' GROUP BY diagnosis",
        "SELECT count(*) FROM visits WHERE cost > 2000",
    ):
        told, other = one.explain(sql, epsilon=1), none.explain(sql, epsilon=1)
        assert (told.notices, told.bounding) == (other.notices, other.bounding)
        answers = one.query(sql, epsilon=1), none.query(sql, epsilon=1)
        assert answers[0].bounding == answers[1].bounding
        assert answers[0].notices == answers[1].notices
