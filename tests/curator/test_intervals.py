"""Which numbers of an answer have an error bar, what it is where it can be worked out by hand, and which have none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import clinic
import pytest

from discreet.curator import postprocessing
from discreet.curator.answer import estimates
from discreet.curator.error_bars import Spans
from discreet.curator.explain import explained
from discreet.curator.formula import (
    Bounded,
    Constant,
    Formula,
    Leaf,
    Noisy,
    Product,
    Quotient,
    Root,
    Rounded,
    Sum,
    ratio,
)
from discreet.curator.intervals import Barred, declared
from discreet.curator.noisy_statistics import NoisyGroups, ends_of, restored, stored
from discreet.curator.price import RARE, priced
from discreet.curator.purchase import BoughtTable
from discreet.mechanisms import LaplaceVector, Quantile
from discreet.privacy import AddRemove, Concentrated, Pure
from discreet.sql.split_at_noise import question

A, B = (Leaf("#0", None, i) for i in range(2))
NOISE = LaplaceVector(Fraction(4))


def spans(
    sql: str, values: Mapping[str, Sequence[tuple[int, ...]]], confidence: str = "0.95"
) -> list[tuple[object, ...]]:
    """The error bars of a question whose noisy tables are these, each group named by its place."""
    found = question(sql, clinic.schema(max_rows=1, max_groups=1))
    paid = priced(found.parts, Pure(1), AddRemove("patient"))
    upper, tables, bought = postprocessing.upper(found), {}, {}
    for price in paid:
        rows = values[price.part.name]
        keyed = [key.values for key in price.part.measurement.keys]
        groups = tuple((keys[0][i],) if (keys := [k for k in keyed if k]) else () for i in range(len(rows)))
        noisy = NoisyGroups(groups, tuple(rows))
        bought[price.part.name] = BoughtTable(price, noisy, 1)
        tables[price.part.name] = postprocessing.noisy_table(price.part, groups, estimates(price.part, rows))
    result = postprocessing.run(upper, tables, {})
    return list(Spans(upper.sides, bought, 1 - Fraction(confidence)).of(result.rows, result.hidden))


def error(sql: str, place: int = 0, confidence: str = "0.95") -> int:
    """How far one statistic of a question is off at most."""
    (price,) = priced(question(sql, clinic.schema(max_rows=1, max_groups=1)).parts, Pure(1), AddRemove("patient"))
    return int(price.charge(price.part.measurement.statistics[place]).mechanism.error(Fraction(confidence)))


def test_a_count_times_a_number_has_its_exact_bar() -> None:
    e = error("SELECT count(*) FROM visits")
    ((plain, scaled, turned),) = spans("SELECT count(*), 2.5 * count(*), 7 - count(*) FROM visits", {"#0": [(100,)]})
    assert plain == (100 - e, 100 + e)
    assert scaled == (250 - 2.5 * e, 250 + 2.5 * e)
    assert turned == (-93 - e, -93 + e)


def test_a_statistic_that_occurs_twice_is_one_noise() -> None:
    ((nothing, twice),) = spans("SELECT count(*) - count(*), count(*) + count(*) FROM visits", {"#0": [(100,)]})
    e = error("SELECT count(*) FROM visits")
    assert nothing == (0, 0)
    assert twice == (200 - 2 * e, 200 + 2 * e)


def test_a_row_minus_itself_is_nothing_and_minus_another_is_not() -> None:
    sql = (
        "WITH a AS (SELECT region, count(*) AS n FROM visits GROUP BY region) "
        "SELECT x.region, x.n - y.n FROM a AS x JOIN a AS y ON x.region <= y.region ORDER BY x.region, y.region"
    )
    found = spans(sql, {"#0": [(100,), (50,), (30,)]})
    widths = [span[1][1] - span[1][0] for span in found]  # type: ignore[index]
    assert widths[0] == 0  # east with itself; north and south follow
    assert widths[1] > 0


@pytest.mark.parametrize(
    ("expression", "has"),
    [
        ("count(*)", True),
        ("avg(cost)", True),
        ("stddev(cost)", True),
        ("100.0 * count(*) FILTER (WHERE urgent) / count(*)", True),
        ("100.0 * count(*) FILTER (WHERE urgent) / nullif(count(*), 0)", True),
        ("avg(cost) FILTER (WHERE urgent) - avg(cost) FILTER (WHERE NOT urgent)", True),
        ("round(avg(cost), 2)", True),
        ("cast(avg(cost) AS bigint)", True),
        ("sqrt(count(*))", True),
        ("median(cost)", True),
        ("round(median(cost) / 10)", True),
        ("percentile_disc(0.9) WITHIN GROUP (ORDER BY cost)", True),
        ("min(cost)", False),
        ("max(cost)", False),
        ("median(cost) - avg(cost)", True),  # it may have one as a formula; see below
        ("CASE WHEN count(*) > 10 THEN 1 ELSE 0 END", False),
        ("coalesce(count(*), 0)", False),
        ("abs(count(*))", False),
        ("count(*) % 7", False),
    ],
)
def test_which_expressions_have_a_formula(expression: str, has: bool) -> None:  # noqa: FBT001
    found = question(f"SELECT {expression} AS x FROM visits", clinic.schema())
    (side,) = postprocessing.upper(found).sides
    assert side.noisy == (True,)
    assert (side.formulas[0] is not None) is has
    prices = priced(found.parts, Pure(1), AddRemove("patient"))
    told = explained(found, prices, Fraction(95, 100), named=True)
    assert [name for name, _ in told.error] == (["x"] if has else [])
    assert told.unbarred == (() if has else ("x",))
    assert ("no error bar" in str(told)) is not has


def test_two_laws_do_not_mix() -> None:
    """A quantile and an average in one number: each alone has a bar, the sum of both has none."""
    sql = "SELECT median(cost), median(cost) - avg(cost) FROM visits"
    ((alone, both),) = spans(sql, {"#0": [(40_000, 1000, 500, 30_000, 50_000)]})
    assert alone == (300.0, 500.0)
    assert both is None


def test_keys_and_constants_have_no_bar_and_no_noise() -> None:
    (side,) = postprocessing.upper(question("SELECT region, 7 FROM visits GROUP BY region", clinic.schema())).sides
    assert side.noisy == (False, False)
    assert side.formulas == (None, None)


@pytest.mark.parametrize(
    ("clause", "chosen"),
    [
        ("", False),
        ("ORDER BY n DESC", False),
        ("ORDER BY region LIMIT 2", False),
        ("ORDER BY n LIMIT 2", True),
        ("HAVING count(*) > 10", True),
        ("HAVING region > 'a'", False),
        ("ORDER BY 2 DESC LIMIT 1", True),
    ],
)
def test_rows_are_chosen_by_noise_or_not(clause: str, chosen: bool) -> None:  # noqa: FBT001
    sql = f"SELECT region, count(*) AS n FROM visits GROUP BY region {clause}"
    (side,) = postprocessing.upper(question(sql, clinic.schema())).sides
    assert side.chosen is chosen


def test_the_bar_of_a_chosen_row_holds_for_all_that_could_have_been() -> None:
    sql = "SELECT region, count(*) AS n FROM visits GROUP BY region"
    tables = {"#0": [(100,), (50,), (30,)]}
    wide = error(sql, confidence=str(1 - Fraction(1, 60)))
    assert spans(f"{sql} ORDER BY n DESC LIMIT 1", tables)[0][1] == (100 - wide, 100 + wide)
    inner = "SELECT t.n FROM (SELECT region, count(*) AS n FROM visits GROUP BY region) AS t WHERE t.n > 60"
    assert spans(inner, tables)[0][0] == (100 - wide, 100 + wide)
    ranked = (
        "SELECT t.n FROM (SELECT count(*) AS n, row_number() OVER (ORDER BY count(*) DESC) AS k FROM visits "
        "GROUP BY region) AS t WHERE t.k = 1"
    )
    assert spans(ranked, tables)[0][0] == (100 - wide, 100 + wide)


COUNTED = "SELECT region, count(*) AS n FROM visits GROUP BY region"


@pytest.mark.parametrize(
    ("window", "rows", "chosen"),
    [
        ("row_number() OVER () = 1", f"{COUNTED} ORDER BY n DESC", True),
        ("row_number() OVER () = 1", f"SELECT t.* FROM ({COUNTED}) AS t ORDER BY t.n + 1", True),
        ("row_number() OVER (PARTITION BY region > 'n') = 1", f"{COUNTED} ORDER BY n DESC", True),
        ("count(*) OVER (ROWS UNBOUNDED PRECEDING) = 1", f"{COUNTED} ORDER BY n DESC", True),
        ("lag(region) OVER () IS NULL", f"{COUNTED} ORDER BY n DESC", True),
        ("first_value(region) OVER () = region", f"{COUNTED} ORDER BY n DESC", True),
        ("row_number() OVER () = 1, rank() OVER (ORDER BY n)", COUNTED, True),  # one leaves its order to the next
        ("row_number() OVER () = 1", f"{COUNTED} ORDER BY region DESC", False),
        ("row_number() OVER (ORDER BY region DESC) = 1", COUNTED, False),
    ],
)
def test_a_place_in_a_noisy_order_chooses_by_noise(window: str, rows: str, chosen: bool) -> None:  # noqa: FBT001
    first, *more = window.split(", ")
    items = ", ".join([f"{first} AS k", *more])
    sql = f"SELECT u.n FROM (SELECT s.region, s.n, {items} FROM ({rows}) AS s) AS u WHERE u.k"
    (side,) = postprocessing.upper(question(sql, clinic.schema())).sides
    assert side.chosen is chosen


def test_the_bar_of_the_first_in_a_noisy_order_holds_for_all_that_could_have_been() -> None:
    sql = (
        f"SELECT u.n FROM (SELECT s.n, row_number() OVER () AS k FROM ({COUNTED} ORDER BY n DESC) AS s) AS u "
        "WHERE u.k = 1"
    )
    wide = error(COUNTED, confidence=str(1 - Fraction(1, 60)))
    assert error(COUNTED) < wide
    assert spans(sql, {"#0": [(50,), (100,), (30,)]}) == [((100 - wide, 100 + wide),)]


def test_each_side_of_a_union_has_its_own_bars() -> None:
    sql = "SELECT region, count(*) AS n FROM visits GROUP BY ROLLUP (region) ORDER BY n"
    found = spans(sql, {"#0": [(100,), (50,), (30,)], "#1": [(180,)]})
    assert all(row[1] is not None for row in found)
    assert found[-1][1][0] < 180 < found[-1][1][1]  # type: ignore[index]


def test_a_sum_over_declared_groups_has_a_bar_and_other_aggregates_have_none() -> None:
    sql = "SELECT sum(t.n), max(t.n) FROM (SELECT region, count(*) AS n FROM visits GROUP BY region) AS t"
    ((total, most),) = spans(sql, {"#0": [(100,), (50,), (30,)]})
    assert most is None
    e = error("SELECT region, count(*) FROM visits GROUP BY region")
    assert total is not None
    assert e < total[1] - 180 < 3 * e  # type: ignore[index]


def test_a_number_that_was_doubled_forty_times_has_its_exact_bar() -> None:
    queries = ", ".join(f"c{i} AS (SELECT a + a AS a FROM c{i - 1})" for i in range(1, 41))
    sql, e = (
        f"WITH c0 AS (SELECT count(*) AS a FROM visits), {queries} SELECT a FROM c40",
        error("SELECT count(*) FROM visits"),
    )
    assert spans(sql, {"#0": [(100,)]}) == [(((100 - e) * 2**40, (100 + e) * 2**40),)]


@pytest.mark.parametrize(
    "number",
    ["1 / (CAST(count(*) AS DOUBLE) * 1e308 * 1e308)", "1 / (CAST(count(*) AS DOUBLE) * count(*) * 1e308 * 1e308)"],
)
def test_what_is_more_than_a_double_in_between_has_no_error_bar(number: str) -> None:
    assert spans(f"SELECT {number} FROM visits", {"#0": [(100,)]}) == [(None,)]


# formulas -------------------------------------------------------------------------------------------------------------


def at(formula: Formula, a: int, b: int, rare: Fraction = RARE) -> tuple[Fraction, Fraction] | None:
    (found,) = Barred(formula, lambda _: NOISE, rare).at([({A: a, B: b}, {})])
    return found


def test_a_ratio_whose_divisor_may_be_nothing_has_no_bar_but_what_is_declared() -> None:
    share = Quotient(Noisy(A), Noisy(B))
    assert at(share, 3, 9) is None
    assert at(Bounded(share, Fraction(0), Fraction(1)), 3, 9) == (Fraction(0), Fraction(1))
    found = at(share, 300, 900)
    assert found is not None
    assert found[0] < Fraction(1, 3) < found[1]


@pytest.mark.parametrize(
    "formula",
    [
        Quotient(Noisy(A), Noisy(B)),
        Quotient(Sum(Noisy(A), Product(Constant(Fraction(7, 3)), Noisy(B))), Noisy(B)),
        Rounded(Quotient(Noisy(A), Sum(Noisy(A), Noisy(B))), 2),
        Sum(Noisy(A), Noisy(B)),
        Product(Noisy(A), Noisy(B)),
    ],
)
def test_rows_that_are_looked_at_together_have_the_bars_that_each_has_alone(formula: Formula) -> None:
    """Among them those that have none: where they stand, no other row's bar may."""
    given = [(300, 900), (3, 9), (-40, 5_000), (0, 0), (10**30, 10**25), (77, -8_000), (1, 10**12)]
    nothing: dict[Leaf, tuple[int, int]] = {}
    rows = [({A: a, B: b}, nothing) for a, b in given] * 100  # more than one lot
    for rare in (RARE, Fraction(1, 10**6)):
        together = Barred(formula, lambda _: NOISE, rare).at(rows)
        assert together == [at(formula, a, b, rare) for a, b in given] * 100


def test_what_is_declared_cuts_a_bar() -> None:
    found = at(Bounded(Quotient(Noisy(A), Noisy(B)), Fraction(0), Fraction(1)), 898, 900)
    assert found is not None
    assert found[1] == 1
    beyond = at(Bounded(Quotient(Noisy(A), Noisy(B)), Fraction(0), Fraction(1)), 2000, 900)
    assert beyond == (Fraction(1), Fraction(1))


def test_a_curve_spends_each_chance_of_failing_once() -> None:
    """A fifth is for the box in which it is looked at (docs/proofs/intervals.md), so its tangent gets four."""
    noise, a = LaplaceVector(Fraction(40)), 10**9
    (found,) = Barred(Product(Noisy(A), Noisy(A)), lambda _: noise, RARE).at([({A: a}, {})])
    assert found is not None
    least = 2 * a * noise.error(1 - RARE * 4 / 5)
    for far in (a * a - found[0], found[1] - a * a):
        assert least <= far <= least * Fraction(102, 100)


def test_rounding_and_roots_take_the_ends_along() -> None:
    inner = at(Noisy(A), 100, 0)
    assert inner is not None
    low, high = at(Rounded(Product(Constant(Fraction(1, 3)), Noisy(A)), 0), 100, 0) or (0, 0)
    assert (low, high) == (round(float(inner[0]) / 3), round(float(inner[1]) / 3))
    root = at(Root(Noisy(A)), 100, 0)
    assert root is not None
    assert float(root[1]) ** 2 == pytest.approx(float(inner[1]))


def test_a_ratio_is_seen_through_sums_and_factors() -> None:
    mean = Sum(Product(Constant(Fraction(2)), Quotient(Noisy(A), Noisy(B))), Constant(Fraction(5)))
    found = ratio(mean)
    assert found is not None
    assert found.above.weights == {A: 2, B: 5}
    assert found.below.weights == {B: 1}
    assert ratio(Sum(Quotient(Noisy(A), Noisy(B)), Quotient(Noisy(B), Noisy(A)))) is None
    assert declared(Sum(Bounded(mean, Fraction(0), Fraction(1)), Constant(Fraction(3)))) == (Fraction(3), Fraction(4))


# quantiles ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Pure(2), Concentrated(Fraction(1, 2))])
def test_the_price_of_a_median_is_split_and_nothing_is_lost(loss: Pure | Concentrated) -> None:
    (price,) = priced(question("SELECT median(cost) FROM visits", clinic.schema()).parts, loss, AddRemove("patient"))
    (charge,) = price.charges
    assert isinstance(charge.mechanism, Quantile)
    lower, upper = charge.ends(Fraction(400))
    assert (lower.side, upper.side) == ("lower", "upper")
    each = [charge.mechanism.epsilon, lower.epsilon, upper.epsilon]
    if isinstance(loss, Pure):
        assert sum(each) == 2
    else:
        assert float(sum(e * e / 8 for e in each)) == pytest.approx(0.5)
        assert sum(e * e / 8 for e in each) <= loss.rho
    (whole,) = priced(question("SELECT min(cost) FROM visits", clinic.schema()).parts, Pure(2), AddRemove("patient"))
    assert whole.charges[0].ends(Fraction(400)) == ()
    assert whole.charges[0].mechanism.privacy == Pure(2)


def test_the_interval_of_a_quantile_is_kept_and_holds_at_what_it_was_bought_for() -> None:
    sql, table = "SELECT median(cost) AS m FROM visits", {"#0": [(40_000, 30_000, 50_000)]}
    assert spans(sql, table) == [((300.0, 500.0),)]
    assert spans(sql, table, "0.5") == [((300.0, 500.0),)]
    assert spans(sql, table, "0.99") == [(None,)]
    noisy = NoisyGroups(((),), ((40_000, 30_000, 50_000),))
    (part,) = question(sql, clinic.schema()).parts
    assert restored(stored(noisy), part.measurement) == noisy


def test_an_answer_of_the_first_version_has_no_interval() -> None:
    assert spans("SELECT median(cost) AS m FROM visits", {"#0": [(40_000,)]}) == [(None,)]
    (price,) = priced(question("SELECT median(cost) FROM visits", clinic.schema()).parts, Pure(2), AddRemove("patient"))
    assert ends_of(price, NoisyGroups(((),), ((40_000,),)), 0, 0) is None


def test_a_sample_variance_of_two_rows_may_be_twice_the_square_of_half_the_range() -> None:
    found = question("SELECT variance(cost) AS v FROM visits", clinic.schema(max_rows=1))
    half = 50_000
    assert estimates(found.parts[0], [(2, 0, 2 * half**2)]) == [[2 * 500.0**2]]
