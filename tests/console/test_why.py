"""The page Why: ceilings that are rounded up, findings that do not beat them, and a slider for keys alone."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest
from browser import NARROW
from console.conftest import Place, Watched, settled
from playwright.sync_api import expect

from discreet.console import why

EXPERT = re.compile(r"<details.*?</details>", re.DOTALL)


def test_ceilings_are_those_of_the_theorems_and_rounded_up() -> None:
    for attack, answers in zip(why.ATTACKS, (1, 4096, 10_000), strict=True):
        for price in why.PRICES:
            epsilon = float(price)
            meant = min(1 / (1 + math.exp(-epsilon)), 1 / 2 + epsilon / (4 * math.sqrt(answers)))
            assert meant - 1e-12 <= float(attack.most(price)) <= meant + 1e-9
            told = float(why.at_most(attack.most(price)))
            assert 100 * meant <= told + 1e-9 < 100 * meant + 0.5 + 1e-6


def test_what_was_found_is_no_more_than_can_be() -> None:
    """Up to three standard errors of 0.5 %; and without noise nearly all is found."""
    for attack in why.ATTACKS:
        assert len(attack.found) == len(why.PRICES) + 1
        for price, found in zip(why.PRICES, attack.found, strict=False):
            assert found <= float(100 * attack.most(price)) + 1.5
        assert attack.found[-1] >= 99
        assert attack.found[0] < 55


def test_nothing_is_said_to_be_all_that_is_not() -> None:
    assert [why.of_hundred(share) for share in (50.2, 50.3, 99.8, 99.96, 100)] == ["50", "50.5", "99.5", "100", "100"]
    assert [why.at_most(Fraction(n, 1000)) for n in (501, 505, 506, 1000)] == ["50.5", "50.5", "51", "100"]


def test_no_greek_letter_stands_outside_the_expert_panel() -> None:
    assert not re.search("[α-ωΑ-Ω]|epsilon|delta", EXPERT.sub("", why.text()))


def test_strangers_get_the_page_and_nothing_else(place: Place) -> None:
    said = place.server.call("GET", "/why")
    assert said.status == 200
    assert "set-cookie" not in said.headers
    assert "script-src 'self'; style-src 'self'" in said.headers["content-security-policy"]
    assert "<title>Why noise" in said.body.decode()
    assert "style=" not in said.body.decode()
    assert 'href="/why"' in place.server.call("GET", "/promise").body.decode()


@pytest.mark.slow
def test_the_slider_is_moved_by_keys_and_says_what_the_table_says(person: Watched) -> None:
    page = person.page()
    page.goto(f"{person.url}/why")
    page.get_by_text("All figures").click()
    rows = page.locator(".w-table tbody tr").all()
    slider = page.get_by_role("slider")
    slider.press("Home")
    for row in rows:
        name, *cells = (row.locator("th").inner_text(), *row.locator("td").all_inner_texts())
        expect(slider).to_have_attribute("aria-valuetext", name)
        expect(page.locator("#w-shown")).to_have_text(name)
        assert page.locator(".w-n").all_inner_texts() == cells[::2]
        assert page.locator(".w-limit").all_inner_texts() == cells[1::2]
        slider.press("ArrowRight")
    expect(page.locator("#w-said")).to_contain_text("nothing limits an attacker")
    page.set_viewport_size(NARROW)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.slow
def test_it_is_a_page_of_the_console(person: Watched) -> None:
    page = person.signed_in("ann", "/promise")
    page.get_by_role("link", name="Why that is needed").click()
    settled(page)
    assert page.title() == "Why noise · discreet"
    page.get_by_role("slider").press("End")
    expect(page.locator("#w-shown")).to_have_text("without noise")
