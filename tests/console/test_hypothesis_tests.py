"""Private tests in the console: orders and words, and in a browser the price before, the result, and free again."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import clinic
import pyarrow as pa
import pytest
from browser import NARROW
from console.conftest import Place, opened, watched
from playwright.sync_api import Browser, Page, expect

from discreet.console.hypothesis_tests import (
    TESTS,
    HypothesisDraft,
    columns,
    found,
    keys,
    p_text,
    quoted,
    rounded,
)
from discreet.console.validity_card import against_us, bounded
from discreet.curator.custody import Custody
from discreet.curator.named_run import RunAnswer
from discreet.desk import HOME, Desk
from discreet.errors import Refusal
from discreet.privacy import Approximate, Concentrated
from discreet.validity import adaptive_error, splitting

PEOPLE = 4000
FILLED = {
    "keys": "region",
    "others": "urgent",
    "key": "north",
    "share": "0.2",
    "shares": "0.4,0.3,0.3",
    "side": "greater",
    "people": str(PEOPLE),
    "numbers": "cost",
    "groups": "urgent",
    "mean": "500",
}
SHARE = HypothesisDraft("share", FILLED, "0.5")


def rows() -> pa.Table:
    """One row of each of many patients: a half comes from the north, and who is urgent costs more."""
    rng = random.Random(3)
    made = []
    for patient in range(PEOPLE):
        urgent = rng.random() < 0.5
        cost = round(min(1000.0, max(0.0, rng.gauss(400 + 200 * urgent, 100))), 2)
        made.append((patient, rng.choice(("north", "north", "south", "east")), "d1", cost, clinic.START, urgent))
    return clinic.table(made)


def home(folder: Path, **changes: object) -> Path:
    usual = {"epsilon": 50, "max_rows": 1, "keys": {"region": clinic.REGIONS, "urgent": (False, True)}}
    return clinic.home(folder, rows(), **{**usual, **changes})


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(home(tmp_path / "home"))


def told(**value: object) -> RunAnswer:
    return RunAnswer(value, None, Approximate(1), "7", "")


# without a browser ----------------------------------------------------------------------------------------------------


def test_only_columns_of_which_enough_is_declared_are_offered(desk: Desk) -> None:
    [table] = desk.tables(HOME)
    assert columns(table, "numbers") == ("cost",)
    assert columns(table, "keys") == columns(table, "others") == ("region", "urgent")
    assert columns(table, "groups") == ("urgent",)
    assert keys(table, "urgent") == ("false", "true")


@pytest.mark.parametrize("test", [each.name for each in TESTS])
def test_what_is_quoted_is_charged_and_shown_again_free(desk: Desk, test: str) -> None:
    draft = HypothesisDraft(test, FILLED, "0.5")
    assert not draft.missing
    before = quoted(desk, HOME, "visits", draft)
    assert before.tag.price == before.tag.due == Approximate("0.5")
    with pytest.raises(Refusal, match="was not bought"):
        desk.run_shown(HOME, before.order)
    assert desk.history(HOME) == []
    answer = desk.run(HOME, before.order)
    assert answer.cost == before.tag.due
    again = quoted(desk, HOME, "visits", draft)
    assert again.tag.bought
    shown = desk.run_shown(HOME, again.order)
    assert (shown.value, shown.cost, shown.entry) == (answer.value, None, answer.entry)
    assert desk.budgets(HOME)["patient"].spent == Approximate("0.5")
    assert found(draft, shown).figure


def test_tests_find_what_is_there(desk: Desk) -> None:
    def p(test: str, **parts: str) -> float:
        order = quoted(desk, HOME, "visits", HypothesisDraft(test, {**FILLED, **parts}, "2")).order
        return float(desk.run(HOME, order).value["p_value"])

    assert p("share") < 1e-9
    assert p("share", side="less") > 0.9
    assert p("shares") < 0.05
    assert p("means") < 1e-9
    assert p("permutation") < 1e-9


def test_a_table_of_many_rows_a_person_is_tested_with_one_of_each(tmp_path: Path) -> None:
    desk = Desk(home(tmp_path / "home", max_rows=9))
    offer = quoted(desk, HOME, "visits", SHARE)
    assert offer.tag.price == Approximate("0.5")
    assert "counts with 1 of them" in offer.left_out


def test_the_usual_price_is_about_a_tenth_in_either_measure(tmp_path: Path) -> None:
    draft = replace(SHARE, epsilon="")
    assert quoted(Desk(home(tmp_path / "e")), HOME, "visits", draft).tag.price == Approximate(5)
    tag = quoted(Desk(home(tmp_path / "r", epsilon=None, rho=2, delta=None)), HOME, "visits", draft).tag
    assert isinstance(tag.price, Concentrated)
    assert Fraction(19, 100) < tag.price.rho < Fraction(22, 100)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"test": "share", "parts": {}}, "fill in"),
        ({"epsilon": "0"}, "ε"),
        ({"epsilon": "x"}, "ε"),
        ({"parts": {**FILLED, "people": "many"}}, "people"),
        ({"parts": {**FILLED, "share": "2"}}, "share"),
        ({"parts": {**FILLED, "key": "west"}}, "no key"),
        ({"parts": {**FILLED, "share": "1" * 401}}, "400 letters"),
        ({"test": "shares", "parts": {**FILLED, "shares": "0.5,0.5"}}, "3 keys"),
        ({"test": "table", "parts": {**FILLED, "others": "region"}}, "two columns"),
        ({"test": "means", "parts": {**FILLED, "groups": "region"}}, "two groups"),
    ],
)
def test_refusals_say_why_and_cost_nothing(desk: Desk, changes: dict[str, object], why: str) -> None:
    with pytest.raises(Refusal, match=why):
        quoted(desk, HOME, "visits", replace(SHARE, **changes))  # type: ignore[arg-type]
    with pytest.raises(Refusal, match="no private table"):
        quoted(desk, HOME, "wards", SHARE)
    assert desk.history(HOME) == []


@pytest.mark.parametrize(
    ("p", "said"),
    [
        (1.0, "p = 1"),
        (0.999, "p = 1"),
        (0.431, "p = 0.44"),
        (0.05, "p = 0.05"),
        (0.00311, "p = 0.0032"),
        (0.0001, "p = 0.0001"),
        (0.0000999, "p < 0.0001"),
        (0.0, "p < 0.0001"),
    ],
)
def test_a_p_value_is_never_said_to_be_smaller_than_it_is(p: float, said: str) -> None:
    assert p_text(p) == said


@pytest.mark.parametrize(
    ("p", "sure", "often"),
    [
        (0.00311, True, "0.32 of 100"),
        (0.05, True, "5 of 100"),
        (0.051, False, "5.1 of 100"),
        (0.7, False, "70 of 100"),
        (1e-12, True, "0.01 of 100"),
    ],
)
def test_a_p_value_is_told_in_plain_words(p: float, sure: bool, often: str) -> None:  # noqa: FBT001
    words = found(SHARE, told(p_value=p)).words
    assert ("hard to believe that at most a share of 0.2 has region = north" in words) is sure
    assert ("no proof" in words) is not sure
    assert f"at most {often} cases" in words


def test_an_interval_is_rounded_outward_and_is_of_everybody() -> None:
    draft = HypothesisDraft("population-mean", FILLED)
    finding = found(draft, told(estimate=209.04, low=187.3091, high=230.7642, confidence=0.95))
    assert finding.figure == "187.3 to 230.8"
    assert finding.interval == (187.3091, 209.04, 230.7642)
    assert "the mean of cost" in finding.words
    assert "everybody" in finding.words
    assert rounded(0.1, 0.0, up=True) == "0.1"


def test_bounds_have_splitting_first_and_need_no_home() -> None:
    many = bounded("10,000", "500")
    assert many.lines[0][::2] == ("error, sample splitting", "Hoeffding 1963")
    assert many.lines[0][1] == pytest.approx(float(splitting(10_000, 500)))
    assert many.lines[1][1] == pytest.approx(float(adaptive_error(10_000, 500).error))
    assert many.advice == "Noise beats splitting the sample."
    assert bounded("10000", "5").advice.startswith("Split the sample")
    one = bounded("10000", "", "0.01", "0.001")
    assert one.lines[0][2] == "Hoeffding 1963"
    assert one.lines[-1][0] == "p-value 0.001, corrected"
    assert one.lines[-1][1] > 0.001
    for wrong in (
        ("", "5"),
        ("10", ""),
        ("10", "x"),
        ("10", "", "", "0.1"),
        ("10", "", "1" * 25),
        ("10", "", "1", "2"),
    ):
        with pytest.raises(Refusal):
            bounded(*wrong)


def test_bounds_are_rounded_against_us() -> None:
    assert against_us("error, sample splitting", 0.49751) == "0.4976"
    assert against_us("p-value that counts as 0.05", 0.0012349) == "0.001234"
    assert against_us("error on average", 0.0025) == "0.0025"
    assert against_us("p-value that counts as 0.05", 0.0) == "0"


# in the browser -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clinic_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    usual = {"epsilon": 3, "max_rows": 1, "keys": {"region": clinic.REGIONS, "urgent": (False, True)}}
    with opened(tmp_path_factory.mktemp("hypotheses"), "--rate", "200", rows=rows(), **usual) as place:
        yield place


def spent(place: Place) -> object:
    return Desk(place.home).budgets(HOME)["patient"].spent


@pytest.mark.slow
def test_a_test_is_priced_paid_once_and_shown_again_with_the_keyboard_alone(
    chromium: Browser, clinic_place: Place
) -> None:
    with watched(chromium, clinic_place) as visitor:
        page, before = visitor.signed_in("ann"), spent(clinic_place)
        page.get_by_role("link", name="Or test a hypothesis").press("Enter")
        button = page.get_by_role("button", name=re.compile("^(Test|Show it)"))
        expect(page.get_by_text("Still to be filled in")).to_be_visible()
        expect(button).to_be_disabled()
        page.get_by_label("Share that somebody says").fill("0.2")
        page.get_by_label("How many people there are").fill(str(PEOPLE))
        expect(button).to_have_text("Test · pays 0.3")
        price = page.get_by_label("Price ε")
        price.fill("7")
        expect(page.get_by_role("alert")).to_contain_text("This costs 7, and the budget “patient” has 3 left for you.")
        expect(button).to_be_disabled()
        price.fill("0.5")
        expect(button).to_have_text("Test · pays 0.5")
        expect(page.get_by_text("of 3, budget “patient”")).to_be_visible()
        assert spent(clinic_place) == before
        price.press("Enter")
        result = page.get_by_label("Result")
        expect(result).to_contain_text("p < 0.0001")
        expect(result).to_contain_text("It is hard to believe that at most a share of 0.2 has region = north.")
        expect(result.locator("svg:visible")).to_have_count(1)
        expect(button).to_have_text("Show it · free")
        paid = spent(clinic_place)
        assert isinstance(paid, Approximate)
        assert isinstance(before, Approximate)
        assert paid.epsilon - before.epsilon == Fraction(1, 2)
        button.press("Enter")
        expect(result).to_contain_text("Shown again, free")
        assert spent(clinic_place) == paid
        radio = page.get_by_role("radio", name="Is a share larger?")
        radio.press("ArrowDown")
        expect(page.get_by_role("radio", name="Do two columns belong together?")).to_be_checked()
        expect(page.get_by_label("Result")).to_have_count(0)
        expect(button).to_have_text("Test · pays 0.5")
        assert spent(clinic_place) == paid


@pytest.mark.slow
def test_bounds_are_free_and_all_of_it_fits_a_phone(chromium: Browser, clinic_place: Place) -> None:
    with watched(chromium, clinic_place, viewport=NARROW) as visitor:
        before = spent(clinic_place)
        page = visitor.signed_in("ann", "/ask?test=1")
        page.get_by_label("Questions").press("Enter")
        table = page.get_by_role("region", name="Bounds at 95 % confidence")
        expect(table.locator("tbody tr").first).to_contain_text("sample splitting")
        expect(table).to_contain_text("none for adaptive questions")
        page.get_by_label("Rows", exact=True).fill("none")
        page.get_by_role("button", name="Work it out").click()
        expect(page.get_by_role("alert")).to_contain_text("Nothing is asked of anybody's data")
        assert spent(clinic_place) == before
        assert fits(page)


@pytest.mark.slow
def test_who_may_ask_about_no_table_is_told_so(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> None:
    with opened(tmp_path_factory.mktemp("no-tables")) as place:
        place.tokens["nils"] = Custody(place.home).let_in("nils", "analyst", tables=[])
        with watched(chromium, place) as visitor:
            page = visitor.signed_in("nils", "/ask?test=1")
            expect(page.get_by_text("There is no private table that you may ask about.")).to_be_visible()
            expect(page.get_by_role("heading", name="How wrong may many answers be?")).to_be_visible()


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))
