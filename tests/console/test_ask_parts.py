"""What the Ask page is made of, without a browser: numbers, prices, pictures, examples, texts for other programs."""

from __future__ import annotations

import csv
import io
import json
import math
import shlex
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import clinic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.console import expert_details
from discreet.console.answer import axis, bars, measures
from discreet.console.data_dictionary import about, facts
from discreet.console.downloads import shown_csv
from discreet.console.expert_details import setting
from discreet.console.pages import known
from discreet.console.price_card import spoken_button
from discreet.console.prices import (
    HELD,
    RETIRED,
    PriceWish,
    Purse,
    Tag,
    above,
    below,
    ladder,
    nearest,
    promised,
    tagged,
)
from discreet.console.sql_editor import examples, names, written
from discreet.curator import Answer
from discreet.curator.custody import Custody
from discreet.curator.significant_digits import error, key, measured, plain
from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.declared.table import Schema, Table
from discreet.desk import Desk, Visitor
from discreet.errors import Refusal
from discreet.exact import spoken
from discreet.privacy import Approximate, Concentrated, Pure

prices = st.fractions(Fraction(1, 10**9), Fraction(10**6))


@pytest.mark.parametrize(
    ("cell", "span", "said"),
    [
        (12345.678, (12222.2, 12469.1), ("12,350", "± 130")),
        (41, (16.0, 66.0), ("41", "± 25")),
        (0.12345, (0.1133, 0.1337), ("0.123", "± 0.011")),
        (5, (5.0, 5.0), ("5", "± 0")),
        (480.2, (190.0, 730.4), ("480", "190 to 740")),
        (-3, (-28.0, 22.0), ("-3", "± 25")),
        (-0.2, (-25.2, 24.8), ("0", "± 26")),
        (None, None, ("no value", "")),
        (7, None, ("7", "")),
        (math.nan, (0.0, 1.0), ("nan", "")),
        (1e300, (0.0, 2e300), ("1e+300", "± 1e+300")),
    ],
)
def test_a_number_has_the_digits_that_its_error_leaves(
    cell: object, span: tuple[float, float] | None, said: tuple[str, str]
) -> None:
    """An error is rounded up, with what rounding took from the number; ends outward: what is shown covers."""
    assert measured(cell, span) == said


def test_cells_without_error_are_read_as_they_are() -> None:
    assert [plain(each) for each in (1234567, True, None, "a<b", 0.5)] == [
        "1,234,567",
        "true",
        "no value",
        "a<b",
        "0.5",
    ]
    assert key(2024) == "2024"  # a year
    assert [error(each) for each in (0, 0.0123, 25, 1234.5)] == ["0", "0.013", "25", "1,300"]


@given(prices, prices)
def test_the_ladder_holds_the_usual_price_and_never_steps_far(usual: Fraction, most: Fraction) -> None:
    steps = ladder(usual, most)
    assert usual in steps
    assert steps[-1] == max(usual, most)
    assert all(low < high <= low * Fraction(3, 2) for low, high in pairwise(steps))
    assert all(nearest(steps, each) == place for place, each in enumerate(steps))


@given(prices)
def test_prices_are_cut_to_a_few_digits_to_the_side_that_is_meant(price: Fraction) -> None:
    assert 0 <= price - below(price) <= price / 10**5
    assert 0 <= above(price) - price <= price / 100
    assert len(spoken(above(price), 30).replace(".", "").strip("0")) <= 3
    assert below(Fraction(0)) == 0


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clinic.home(tmp_path_factory.mktemp("tags") / "home", epsilon=3, delta="1e-6", max_rows=20, max_groups=3)


def ann(home: Path, name: str = "ann", **allowed: object) -> tuple[Desk, Visitor]:
    desk = Desk(home)
    visitor = desk.bearer(Custody(home).let_in(name, "analyst", **allowed))  # type: ignore[arg-type]
    assert visitor is not None
    return desk, visitor


def test_a_tag_tells_price_error_and_what_is_left(home: Path) -> None:
    desk, visitor = ann(home)
    sql = "SELECT region, count(*) AS n, avg(cost) AS a, sum(cost) / count(*) AS m FROM visits GROUP BY region"
    tag = tagged(desk, visitor, sql, PriceWish())
    assert tag.price == tag.due == tag.usual == Approximate(Fraction(3, 50))
    assert [name for name, _ in tag.columns] == ["n", "a", "m"]
    assert [found is None for _, found in tag.columns] == [False, True, True]
    assert tag.error is None  # of some it depends on the data
    assert tag.after == Approximate(Fraction(147, 50), Fraction(1, 10**6))
    assert tag.again == 49
    assert spoken_button(tag) == "Ask · pays 0.06"


def test_a_tag_tells_which_columns_will_have_no_error_bar(home: Path) -> None:
    desk, visitor = ann(home, "unsure")
    sql = "SELECT max(cost) AS most, avg(cost) AS a, DATE '2024-01-01' + count(*)::int AS d FROM visits"
    tag = tagged(desk, visitor, sql, PriceWish())
    assert [(name, tag.exactness(name)) for name, _ in tag.columns] == [
        ("most", "no error bar"), ("a", "known after paying"), ("d", "no error bar"),
    ]  # fmt: skip
    assert tag.error is None
    assert tag.bounding.startswith("Error bars cover the noise.")


def test_a_tag_tells_what_is_hardly_meant_and_what_will_not_be_shown(home: Path) -> None:
    desk, visitor = ann(home, "told")
    sql = "SELECT diagnosis, count(*) AS n FROM visits WHERE region = 'West' GROUP BY diagnosis"
    doubt, hidden = tagged(desk, visitor, sql, PriceWish()).notices
    assert doubt.startswith("'West' is none of the declared keys of region")
    assert hidden.startswith("Groups with fewer than about ")
    cheaper = tagged(desk, visitor, sql, PriceWish(price=Fraction(1, 100))).notices[1]
    assert int(cheaper.split()[5]) > int(hidden.split()[5])  # of the price that the tag names


def test_price_and_error_follow_each_other(home: Path) -> None:
    desk, visitor = ann(home, "both")
    cheap, dear = (tagged(desk, visitor, clinic.COUNT, PriceWish(price=Fraction(each))) for each in ("0.1", "1"))
    assert cheap.error is not None
    assert dear.error is not None
    assert cheap.error > 5 * dear.error
    wanted = tagged(desk, visitor, clinic.COUNT, PriceWish(error=Fraction(100)))
    assert wanted.error is not None
    assert 90 < wanted.error <= 100
    assert wanted.payment["epsilon"] == Fraction("0.597")  # a number that one can say, and that is paid exactly
    again = tagged(desk, visitor, clinic.COUNT, PriceWish(price=Fraction("0.597")))
    assert again == wanted
    average = tagged(desk, visitor, "SELECT avg(cost) AS a FROM visits", PriceWish(error=Fraction(100)))
    assert average.price == average.usual  # no price buys an error that depends on the data
    surer = tagged(desk, visitor, clinic.COUNT, PriceWish(price=Fraction(1), confidence=Fraction(99, 100)))
    assert surer.error is not None
    assert surer.error > dear.error


def test_what_was_bought_is_free_and_only_at_its_price(tmp_path: Path) -> None:
    desk, visitor = ann(clinic.home(tmp_path / "home", epsilon=3))
    tag = tagged(desk, visitor, clinic.COUNT, PriceWish(price=Fraction("0.5")))
    answer = desk.asked(visitor, tag.sql, tag.payment)
    assert answer.cost == tag.due
    for price, bought in (("0.5", True), ("0.4", True), ("0.6", False)):
        found = tagged(desk, visitor, clinic.COUNT, PriceWish(price=Fraction(price)))
        assert found.bought is bought
        assert spoken_button(found) == ("Ask · free" if bought else f"Ask · pays {price}")
    assert found.purse is not None
    assert found.purse.left == answer.left


def test_who_has_an_allowance_sees_what_is_left_of_it(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home", epsilon=3)
    desk, visitor = ann(home, allowance="1")
    desk.asked(visitor, clinic.COUNT, {"epsilon": "0.75"})
    wish = PriceWish(price=Fraction("0.5"))
    tag = tagged(desk, visitor, "SELECT count(*) AS n FROM visits WHERE urgent", wish)
    assert tag.purse is not None
    assert tag.purse.left.epsilon == Fraction("0.25")  # type: ignore[union-attr]
    assert tag.over
    assert tag.after is None
    less = tag.affordable(wish)
    assert less == PriceWish(price=Fraction("0.25"))
    fits = tagged(desk, visitor, tag.sql, less)
    assert not fits.over
    assert desk.asked(visitor, fits.sql, fits.payment).cost == fits.due
    assert tagged(desk, visitor, "SELECT count(*) AS n FROM visits WHERE NOT urgent", wish).affordable(wish) is None


def test_what_is_left_of_delta_counts_as_well() -> None:
    purse = Purse("p", Approximate(3, Fraction(1, 100)), Approximate(Fraction(2), Fraction(1, 3000)))
    tag = Tag("q", {}, Approximate(1, Fraction(1, 1000)), Approximate(1, Fraction(1, 1000)), None, purse, ())
    assert tag.over
    less = tag.affordable(PriceWish())
    assert less is not None
    assert less.delta is not None
    assert 0 < less.delta <= Fraction(1, 3000)
    spent = replace(tag, purse=replace(purse, left=Approximate(Fraction(2), Fraction(0))))
    assert spent.affordable(PriceWish()) is None


def test_a_closed_population_says_so(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home", epsilon=3)
    desk, visitor = ann(home)
    Custody(home).retire("patient")
    tag = tagged(desk, visitor, clinic.COUNT, PriceWish())
    assert tag.purse is not None
    assert tag.purse.closed == RETIRED != HELD


def test_budgets_in_another_measure_have_their_own_word(tmp_path: Path) -> None:
    desk, visitor = ann(clinic.home(tmp_path / "home", epsilon=None, rho="0.5", delta=None))
    tag = tagged(desk, visitor, clinic.COUNT, PriceWish(price=Fraction("0.02")))
    assert tag.price == Concentrated(Fraction("0.02"))
    assert tag.payment["rho"] == Fraction("0.02")
    assert desk.asked(visitor, tag.sql, tag.payment).cost == tag.due
    wanted = tagged(desk, visitor, clinic.COUNT, PriceWish(error=Fraction(100)))
    assert wanted.error is not None
    assert wanted.error <= 100


def test_settings_are_read_or_refused() -> None:
    assert setting(PriceWish(), "delta", "1e-9").plain()["delta"] == Fraction(1, 10**9)
    assert setting(PriceWish(max_rows=3), "max_rows", "") == PriceWish()
    assert setting(PriceWish(), "max_groups", "7") == PriceWish(max_groups=7)
    for name, text in (("delta", "2"), ("delta", "x"), ("max_rows", "0"), ("max_rows", "1.5"), ("max_groups", "²")):
        with pytest.raises(Refusal):
            setting(PriceWish(), name, text)


def answer(
    columns: tuple[str, ...],
    types: tuple[str, ...],
    rows: tuple[tuple[object, ...], ...],
    spans: tuple[tuple[tuple[float, float] | None, ...], ...],
) -> Answer:
    return Answer(columns, types, rows, None, None, "7", "", Fraction(95, 100), spans, None)  # type: ignore[arg-type]


GROUPS = answer(
    ("year", "who", "n", "share"),
    ("bigint", "varchar", "bigint", "double"),
    ((2024, "=a,b", 10, 0.5), (2025, None, -4, None)),
    ((None, None, (5.0, 15.0), (0.4, 0.6)), (None, None, (-9.0, 1.0), None)),
)


def test_a_picture_has_a_bar_for_every_number() -> None:
    assert measures(GROUPS, GROUPS.spans) == (2, 3)
    found = bars(GROUPS, GROUPS.spans, 2)
    assert [(bar.label, bar.value, bar.span) for bar in found] == [
        ("2024 · =a,b", 10.0, (5.0, 15.0)),
        ("2025 · no value", -4.0, (-9.0, 1.0)),
    ]
    assert len(bars(GROUPS, GROUPS.spans, 3)) == 1
    scale = axis(found, from_zero=True)
    assert (scale.low, scale.high) == (-10.0, 15.0)
    assert 0.0 in scale.ticks
    assert (scale.at(-10), scale.at(15), scale.at(99)) == (0, 100, 100)


@given(st.lists(st.tuples(*[st.floats(-1e12, 1e12)] * 3).map(sorted), min_size=1, max_size=5), st.booleans())
def test_every_error_bar_has_room(spans: list[list[float]], from_zero: bool) -> None:  # noqa: FBT001
    rows = tuple((middle,) for _, middle, _ in spans)
    found = answer(("n",), ("double",), rows, tuple(((low, high),) for low, _, high in spans))
    scale = axis(bars(found, found.spans, 0), from_zero=from_zero)
    slack = 1e-9 * (scale.high - scale.low)
    assert all(scale.low - slack <= low <= high <= scale.high + slack for low, _, high in spans)
    assert not from_zero or scale.low <= 0 <= scale.high
    assert 1 <= len(scale.ticks) <= 12 or (not from_zero and not scale.ticks)


def test_the_file_holds_every_digit_and_where_the_truth_may_lie() -> None:
    text = shown_csv(GROUPS, GROUPS.spans, Fraction(95, 100))
    head, first, second = csv.reader(io.StringIO(text))
    assert head == ["year", "who", "n", "n low 95%", "n high 95%", "share", "share low 95%", "share high 95%"]
    assert first == ["2024", "'=a,b", "10", "5.0", "15.0", "0.5", "0.4", "0.6"]  # and no spreadsheet computes it
    assert second == ["2025", "", "-4", "-9.0", "1.0", "", "", ""]


def test_examples_are_made_of_what_is_declared_and_would_be_answered(home: Path) -> None:
    desk, visitor = ann(home, "eve")
    found = examples(desk.tables(visitor))
    assert [each.words for each in found] == ["How many visits?", "How many per region?", "Average cost per region"]
    for each in found:
        assert tagged(desk, visitor, each.sql, PriceWish()).price is not None
    assert examples([Table("wards", (Column("ward", Type.VARCHAR),))]) == ()
    odd = Table("Odd table", (Column('a"b', Type.VARCHAR, keys=("x",)),), "p", None, 1)
    assert examples([odd])[1].sql == 'SELECT "a""b", count(*) AS n\nFROM "Odd table"\nGROUP BY "a""b"\nORDER BY "a""b"'
    assert [written(each) for each in ("cost", "order", "Cost", "2x")] == ["cost", '"order"', '"Cost"', '"2x"']


def test_functions_that_are_completed_are_known(home: Path) -> None:
    desk, visitor = ann(home, "fay")
    known = names(desk.tables(visitor))
    arguments = {
        "percentile_cont": "percentile_cont(0.9) WITHIN GROUP (ORDER BY cost)",
        "coalesce": "sum(coalesce(cost, 0))",
        "nullif": "sum(nullif(cost, 0))",
        "greatest": "sum(greatest(cost, 1))",
        "least": "sum(least(cost, 1))",
        "power": "sum(power(cost, 2))",
        "extract": "sum(extract(month FROM day))",
        "substring": "count(substring(region, 1, 2))",
        "width_bucket": "sum(width_bucket(cost, 0, 1000, 10))",
        "date_trunc": "count(date_trunc('month', day))",
        "ln": "sum(least(greatest(ln(cost), 0), 7))",
        "exp": "sum(exp(cost / 1000))",
    }
    plain_texts = {"length", "lower", "trim", "upper"}
    whole = {"count", "sum", "avg", "median", "min", "max", "stddev", "variance"}
    functions = known["functions"]
    assert isinstance(functions, list)
    for name in functions:
        if name in whole:
            said = f"{name}(cost)"
        else:
            said = arguments.get(name, f"count({name}(region))" if name in plain_texts else f"sum({name}(cost))")
        assert desk.explained(visitor, f"SELECT {said} AS x FROM visits", {}).price is not None


def test_public_facts_are_said_in_words() -> None:
    table = clinic.schema().table("visits")
    assert about(table) == "One person is one patient. At most 20 rows of each count, in 3 groups."
    assert facts(table.column("patient"), table) == ("bigint", "names the person")
    assert facts(table.column("cost"), table) == ("double", "0 to 1000")
    assert facts(table.column("region"), table) == ("varchar", "north, south, east")
    assert about(clinic.schema().table("wards")) == "Public: costs nothing."
    many = Column("k", Type.BIGINT, keys=tuple(range(40)))
    assert facts(many, table)[1] == "0, 1, 2, 3, 4, 5, … 40 in all"
    assert about(Table("t", (many,), "p", None)) == "Each row is somebody of its own."
    assert isinstance(Schema({"visits": table}), Schema)


def test_the_same_question_for_other_programs_is_quoted() -> None:
    sql, terms = "SELECT 'it''s \"$x\"' FROM t", {"epsilon": Fraction("0.06"), "confidence": Fraction(95, 100)}
    command = shlex.split(expert_details.psql(sql, terms, "ann", ("example.org", 6543)))
    assert command[1:] == [
        "host=example.org port=6543 user=ann dbname=discreet",
        "-c",
        f"SET discreet.epsilon = 0.06; {sql}",
    ]
    sent = shlex.split(expert_details.http(sql, terms, "http://example.org:8410").replace("\\\n", ""))
    assert sent[1] == "http://example.org:8410/api/v1/query"
    assert json.loads(sent[-1]) == {"sql": sql, "epsilon": "0.06"}
    code = expert_details.python(
        sql, {**terms, "confidence": Fraction(9, 10), "max_rows": 3}, "http://example.org:8410"
    )
    compile(code, "snippet", "exec")
    assert f"db.query({sql!r}, epsilon='0.06', confidence='0.9', max_rows=3)" in code
    assert "1/3" in expert_details.python(sql, {"epsilon": Fraction(1, 3)}, "http://example.org")


def test_a_free_question_says_so() -> None:
    assert spoken_button(None) == "Ask"
    assert spoken_button(Tag("q", {}, None, None, None, None, ())) == "Ask · free"
    over = Tag("q", {}, Pure(2), Pure(2), None, Purse("p", Pure(3), Pure(1)), ())
    assert spoken_button(over) == "Ask"


def test_nobody_pays_more_than_was_shown() -> None:
    purse = Purse("p", Pure(9), Pure(9))
    one, two = (Tag("q", {}, Pure(each), Pure(each), Pure(1), purse, ()) for each in (1, 2))
    free, other = replace(one, due=None), replace(one, due=Concentrated(1), purse=replace(purse, left=Concentrated(9)))
    assert [promised(one, each) for each in (one, two, None)] == [True, True, False]  # what nobody saw is not paid
    assert [promised(two, each) for each in (one, two, None)] == [False, True, False]
    assert promised(free, None)
    assert not promised(one, free)
    assert not promised(other, one)
    over = replace(one, purse=replace(purse, left=Pure(0)))
    assert not promised(over, one)
    assert not promised(one, over)


@pytest.mark.parametrize(
    ("after", "there"),
    [
        ("/ask?sql=SELECT%20count(*)%0AFROM+t", "/ask?sql=SELECT%20count(*)%0AFROM+t"),
        ("/ask?sql=a\r\nSet-Cookie: a=b", "/ask"),
        ('/ask?sql="><script>', "/ask"),
        ("//evil.example/ask?sql=a", "/ask"),
        ("/budget", "/budget"),
    ],
)
def test_a_question_outlives_signing_in_and_nothing_else_does(after: str, there: str) -> None:
    assert known(after) == there
