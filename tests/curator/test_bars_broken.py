"""Error bars that promised more than they kept: each of these once had one that missed, or none to be had at all."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import clinic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.curator import Curator, postprocessing
from discreet.curator.answer_formulas import Side
from discreet.curator.explain import COVERED, STAGED, explained
from discreet.curator.formula import Given, Rounded, every, leaves, rounded
from discreet.curator.price import priced
from discreet.errors import Refusal
from discreet.mechanisms import GaussianVector
from discreet.mechanisms.noise_sums import bar
from discreet.privacy import AddRemove, Pure
from discreet.sql.split_at_noise import question


def sides(sql: str) -> tuple[Side, ...]:
    return postprocessing.upper(question(sql, clinic.schema(max_rows=1, max_groups=1))).sides


def test_wide_noise_beside_narrow_noise_is_not_listed() -> None:
    """A count and a sum under ρ: the sum's noise alone took 19 GiB to list."""
    narrow, wide = GaussianVector(Fraction(1000)), GaussianVector(Fraction(10) ** 20)
    rare = Fraction(1, 20)
    together = bar(((narrow, Fraction(1)), (wide, Fraction(1))), rare)
    assert 1 <= float(together) / wide.error(1 - rare) < 1.001


CONDITION = "SELECT count(*) AS n FROM visits WHERE cost > (SELECT avg(cost) FROM visits)"


def test_a_noisy_number_in_a_condition_leaves_no_bar(tmp_path: Path) -> None:
    curator = Curator(clinic.home(tmp_path / "home"))
    told = curator.explain(CONDITION, epsilon=2)
    assert (told.error, told.unbarred) == ((), ("n",))
    answer = curator.query(CONDITION, epsilon=2)
    assert answer.spans == answer.intervals("0.5") == ((None,),)
    assert answer.unbarred == ("n",)
    for bounding in (told.bounding, answer.bounding):
        assert bounding.startswith(STAGED)
        assert COVERED not in bounding


COUNTED = "(SELECT region, count(*) AS n FROM visits GROUP BY region{}) AS z"


@pytest.mark.parametrize(
    ("sql", "chosen"),
    [
        (f"SELECT z.n FROM {COUNTED.format('')} LIMIT 1", False),
        (f"SELECT z.n FROM {COUNTED.format(' ORDER BY region')} LIMIT 1", False),
        (f"SELECT z.n FROM {COUNTED.format(' ORDER BY count(*) DESC')} LIMIT 1", True),
        (f"SELECT z.n FROM {COUNTED.format(' ORDER BY count(*) DESC')} OFFSET 1", True),
        (f"SELECT z.n FROM {COUNTED.format(' ORDER BY count(*) DESC')}", False),
        (
            f"WITH b AS (SELECT * FROM {COUNTED.format('')} ORDER BY n) SELECT c.n FROM (SELECT * FROM b) c LIMIT 1",
            True,
        ),
        ("SELECT count(*), rank() OVER (ORDER BY count(*)) FROM visits GROUP BY region LIMIT 1", True),
        ("SELECT count(*), rank() OVER (ORDER BY region) FROM visits GROUP BY region LIMIT 1", False),
        ("SELECT count(*), rank() OVER (ORDER BY count(*)) FROM visits GROUP BY region", False),
        ("SELECT region AS r, count(*) FROM visits GROUP BY region ORDER BY upper(r) LIMIT 1", False),
        (f"SELECT z.region AS n, z.n AS m FROM {COUNTED.format('')} ORDER BY -n LIMIT 1", True),
        (f"SELECT z.region AS n, z.n AS m FROM {COUNTED.format('')} ORDER BY n LIMIT 1", False),
        (f"SELECT z.n AS region, z.n AS m FROM {COUNTED.format('')} ORDER BY upper(region) LIMIT 1", False),
    ],
)
def test_noise_that_orders_rows_chooses_those_that_a_limit_keeps(sql: str, chosen: bool) -> None:  # noqa: FBT001
    (side,) = sides(sql)
    assert side.chosen is chosen


@pytest.mark.parametrize(
    ("shown", "chosen"),
    [
        ("nullif(z.n, 0)", True),
        ("100.0 / nullif(z.n, 7)", True),
        ("nullif(z.n, 0) / 100.0", True),
        ("100.0 / (nullif(z.n, 0))", False),
        ("100 / nullif(z.n, 0.0)", False),
        ("100.0 / cast(nullif(z.n, 0) AS double precision)", False),
        ("100.0 / z.n", False),
        ("cast(z.n AS smallint)", True),
        ("cast(z.n AS integer)", False),
        ("cast(100 * z.n AS integer)", True),
        ("cast(100 * z.n / 7 AS decimal)", False),
        ("cast(z.n / 0.0000001 AS decimal)", True),
        ("cast(z.n AS double precision)", False),
        ("z.n + 9223372036854775800", True),
        ("z.n * 1000000000000", True),
        ("z.n * 1000000000000 / 2.0", True),
        ("100 * z.n - z.n", False),
        ("1.0 / (1.0 / z.n)", True),
        ("(1.0 / z.n) / 2", False),
    ],
)
def test_noise_that_empties_cells_chooses_those_that_are_shown(shown: str, chosen: bool) -> None:  # noqa: FBT001
    inner = f"SELECT {shown} AS m FROM {COUNTED.format('')}"
    for sql in (inner, f"SELECT y.m FROM ({inner}) AS y"):
        (side,) = sides(sql)
        assert side.chosen is chosen
        assert side.formulas[0] is not None


@pytest.mark.parametrize(
    ("shown", "chosen"),
    [
        ("cast(avg(cost) AS smallint)", False),
        ("cast(sum(cost) AS integer)", True),
        ("cast(sum(cost) AS bigint)", False),
        ("cast(100.0 * count(cost) / count(*) AS integer)", False),
        ("cast(count(cost) / count(*) AS integer)", False),
        ("cast(percentile_cont(0.5) WITHIN GROUP (ORDER BY cost) AS smallint)", False),
        ("cast(var_pop(cost) AS smallint)", True),
        ("cast(extract(year FROM day) * count(*) AS bigint)", False),
    ],
)
def test_a_cast_empties_no_cells_of_what_fits_whatever_the_noise(shown: str, chosen: bool) -> None:  # noqa: FBT001
    (side,) = sides(f"SELECT {shown} FROM visits GROUP BY extract(year FROM day)")
    assert side.chosen is chosen
    assert side.formulas[0] is not None


@pytest.mark.parametrize("cell", ["1.0 / (1.0 / z.n)", "z.n * 1000000000000", "cast(z.n * 1000000000000 AS float8)"])
def test_a_total_of_what_noise_may_empty_has_no_bar(cell: str) -> None:
    inner = COUNTED.format("")
    for sql in (f"SELECT sum({cell}) FROM {inner}", f"SELECT sum(y.m) FROM (SELECT {cell} AS m FROM {inner}) AS y"):
        (side,) = sides(sql)
        assert side.formulas == (None,)


def test_a_name_inside_an_expression_of_order_by_is_one_of_the_rows() -> None:
    sql = f"SELECT z.region AS n, z.n AS m FROM {COUNTED.format('')} ORDER BY -n LIMIT 1"
    found = postprocessing.upper(question(sql, clinic.schema()))
    table = postprocessing.noisy_table(found.question.parts[0], [("north",), ("south",)], [[3], [9]])
    assert postprocessing.run(found, {"#0": table}, {}).rows == (("south", 9),)


def test_a_number_of_one_group_beside_all_groups_is_answered() -> None:
    sql = (
        "WITH a AS (SELECT region, count(*) AS n FROM visits GROUP BY region) "
        "SELECT a.region, 1.0 * a.n / (SELECT b.n FROM a AS b WHERE b.region = 'north') AS share FROM a"
    )
    found = postprocessing.rehearse(question(sql, clinic.schema()), {})
    table = postprocessing.noisy_table(found.question.parts[0], [("north",), ("south",)], [[3], [9]])
    assert postprocessing.run(found, {"#0": table}, {}).rows == (("north", 1.0), ("south", 3.0))


@pytest.mark.parametrize("inner", ["sum(nullif(z.n, 5))", "sum(y.m)"])
def test_a_total_of_what_may_be_null_has_no_bar(inner: str) -> None:
    source = f"{COUNTED.format('')}" if "z" in inner else f"(SELECT nullif(z.n, 5) AS m FROM {COUNTED.format('')}) AS y"
    (side,) = sides(f"SELECT {inner}, sum(z.n) FROM {source}" if "z" in inner else f"SELECT {inner} FROM {source}")
    assert side.formulas[0] is None
    assert [formula is not None for formula in side.formulas[1:]] == [True] * (len(side.formulas) - 1)


def test_the_key_of_another_row_counts_among_what_noise_could_choose() -> None:
    """Of two rows that noise chose together, the bar holds for all pairs, a key's row being one of them."""
    sql = (
        "WITH a AS (SELECT extract(year FROM day) AS y, count(*) AS n FROM visits GROUP BY 1) "
        "SELECT x.n * 1.0 + z.y FROM a AS x, a AS z ORDER BY x.n + z.n DESC LIMIT 1"
    )
    (side,) = sides(sql)
    (formula,) = side.formulas
    assert formula is not None
    assert side.chosen
    (given,) = [part for part in every(formula) if isinstance(part, Given)]
    (leaf,) = leaves(formula)
    assert given.row is not None
    assert given.row[0] == leaf.part
    assert given.row[1] != leaf.place


def test_no_interval_is_sold_for_a_level_that_is_not_measured() -> None:
    for level, has in (("0.000001", True), ("0.0000001", False), ("0.9999999", False)):
        sql = f"SELECT percentile_cont({level}) WITHIN GROUP (ORDER BY cost) FROM visits"
        found = question(sql, clinic.schema())
        (price,) = priced(found.parts, Pure(1), AddRemove("patient"))
        assert bool(price.charges[0].each_end) is has
        assert (postprocessing.upper(found).sides[0].formulas[0] is not None) is has


@pytest.mark.parametrize(
    ("named", "plain"),
    [
        ("rank() OVER w {} WINDOW w AS (ORDER BY count(*))", "rank() OVER (ORDER BY count(*)) {}"),
        ("rank() OVER (w ORDER BY region) {} WINDOW W AS ()", "rank() OVER (ORDER BY region) {}"),
        (
            "sum(count(*)) OVER v {} WINDOW w AS (PARTITION BY region), v AS (w ORDER BY count(*))",
            "sum(count(*)) OVER (PARTITION BY region ORDER BY count(*)) {}",
        ),
        (
            "sum(count(*)) OVER w {} WINDOW w AS (ORDER BY region ROWS 1 PRECEDING)",
            "sum(count(*)) OVER (ORDER BY region ROWS 1 PRECEDING) {}",
        ),
    ],
)
def test_a_window_with_a_name_is_the_one_that_it_names(named: str, plain: str) -> None:
    rows = "AS x FROM visits GROUP BY region"
    texts = [
        postprocessing.upper(question(f"SELECT {sql.format(rows)}", clinic.schema())).text for sql in (named, plain)
    ]
    assert texts[0] == texts[1]


def test_a_window_with_a_name_keeps_its_order_below_the_noise() -> None:
    rows = "SELECT count(*) FROM (SELECT sum(cost) OVER {} AS s FROM visits{}) AS t WHERE t.s > 5"
    spec = "PARTITION BY patient ORDER BY day"
    both = [rows.format("(w ORDER BY day)", " WINDOW w AS (PARTITION BY patient)"), rows.format(f"({spec})", "")]
    named = rows.format("w", f" WINDOW w AS ({spec})")
    plans = [question(sql, clinic.schema()).parts[0].measurement.question for sql in (*both, named)]
    assert len(set(plans)) == 1


@pytest.mark.parametrize(
    "window",
    [
        "w",
        "(w PARTITION BY day) {} WINDOW w AS ()",
        "(w ORDER BY region) {} WINDOW w AS (ORDER BY region)",
        "(w ORDER BY region) {} WINDOW w AS (ROWS 1 PRECEDING)",
    ],
)
def test_a_window_that_postgres_would_refuse_is_refused(window: str) -> None:
    rows = "FROM visits GROUP BY region"
    with pytest.raises(Refusal, match="write the window after OVER"):
        question(f"SELECT rank() OVER {window if '{' in window else window + ' {}'}".format(rows), clinic.schema())


def test_what_a_row_and_itself_are_off_by_is_known_after_paying() -> None:
    sql = (
        "WITH a AS (SELECT region, count(*) AS n FROM visits GROUP BY region) "
        "SELECT x.n + z.n AS both, 3 * x.n AS thrice FROM a AS x JOIN a AS z ON x.region = z.region"
    )
    found = question(sql, clinic.schema())
    told = explained(found, priced(found.parts, Pure(1), AddRemove("patient")), Fraction(95, 100), named=True)
    assert dict(told.error)["both"] is None
    assert dict(told.error)["thrice"] is not None


def test_an_error_that_is_asked_for_is_that_of_what_is_shown(tmp_path: Path) -> None:
    curator = Curator(clinic.home(tmp_path / "home"))
    told = curator.explain("SELECT 100 * count(*) AS n FROM visits", error=900)
    ((_, error),) = told.error
    assert error is not None
    assert 800 < error <= 900
    assert told.price == curator.explain("SELECT count(*) AS n FROM visits", error=9).price
    for sql in (
        "SELECT abs(count(*)) AS n FROM visits",
        "SELECT count(*) AS n FROM visits HAVING count(*) > 5",
        CONDITION,
    ):
        with pytest.raises(Refusal, match=r"column 'n' is not known before paying|AVG depends on the data"):
            curator.explain(sql, error=9)


COUNTS = "FROM (SELECT region, count(*) AS n, count(cost) AS u FROM visits GROUP BY region) AS t"


@pytest.mark.parametrize(
    ("sql", "cells"),
    [
        ("SELECT count(*) / 3 FROM visits GROUP BY region", [133, -133, 0]),
        (f"SELECT t.n / 3, t.u {COUNTS}", [133, -133, 0]),
        (f"WITH c AS (SELECT t.n AS m, t.u {COUNTS}) SELECT (c.m + 0) / (1 + 2) FROM c", [133, -133, 0]),
        (f"SELECT t.n / t.u {COUNTS}", [57, -57, None]),
        (f"SELECT t.n / 3 / 2 {COUNTS}", [66, -66, 0]),
        ("SELECT 100 * count(*) / count(cost) FROM visits GROUP BY region", [5714, -5714, None]),
        ("SELECT round(100.0 * count(*) / nullif(count(cost), 0)) FROM visits GROUP BY region", [5714, -5714, None]),
        ("SELECT count(*) * 1.0 / 8 FROM visits GROUP BY region", [50, -50, 0]),
        ("SELECT 1.0 * count(*) / 32 FROM visits GROUP BY region", [12.5, -12.5, 0]),
        ("SELECT sum(cost) / 32 FROM visits GROUP BY region", [12.5, -12.5, 0]),
    ],
)
def test_a_whole_number_over_a_whole_number_is_whole_however_it_is_spelled(sql: str, cells: list[float | None]) -> None:
    found = postprocessing.rehearse(question(sql, clinic.schema()), {})
    (part,) = found.question.parts
    rows = [(400, 7), (-400, 7), (0, 0)]
    table = postprocessing.noisy_table(
        part, [(region,) for region in clinic.REGIONS], [row[: len(part.aggregates)] for row in rows]
    )
    assert [row[0] for row in postprocessing.run(found, {"#0": table}, {}).rows] == cells


def test_a_key_that_is_divided_is_whole_before_and_after_grouping() -> None:
    after = question(
        "SELECT extract(year FROM day) / 10 AS d, count(*) FROM visits GROUP BY extract(year FROM day)", clinic.schema()
    )
    found = postprocessing.rehearse(after, {})
    assert found.columns[0][1] == "bigint"


def test_the_bar_of_a_whole_quotient_has_whole_ends_that_hold() -> None:
    (side,) = sides("SELECT count(*) / 3 FROM visits")
    (formula,) = side.formulas
    assert isinstance(formula, Rounded)
    assert (formula.digits, formula.way) == (0, "zero")
    assert rounded((Fraction(-8, 3), Fraction(8, 3)), 0, "zero") == (Fraction(-2), Fraction(2))
    assert rounded((Fraction(3), Fraction(4)), 0, "zero") == (Fraction(3), Fraction(4))


@given(st.floats(-1e17, 1e17), st.integers(-3, 6), st.integers(-16, 16), st.sampled_from(["near", "down", "up"]))
def test_a_rounded_bar_holds_what_doubles_round_to_and_hardly_more(x: float, digits: int, off: int, way: str) -> None:
    """Of a number about 10^12 the bar was three wide, whatever the digits."""
    exact, scale = Fraction(x), Fraction(10) ** digits
    low, high = rounded((exact, exact), digits, way)
    seen = (exact + off * Fraction(math.ulp(x))) * scale
    found = {"near": round(seen), "down": math.floor(seen), "up": math.ceil(seen)}[way]
    assert low <= found / scale <= high
    assert high - low <= 1 / scale + abs(exact) / 2**47
