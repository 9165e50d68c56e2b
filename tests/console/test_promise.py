"""What people whose data it is are told: never less than Bob can know, never a certainty, and no names to strangers."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest
from console.conftest import Place

from discreet.audit.game import bound
from discreet.console import promise
from discreet.ledger.balances import Account
from discreet.ledger.entry_kinds import BudgetLoss
from discreet.privacy import AddRemove, Approximate, Budget, Concentrated, Neighbours, Pure, Replace


def account(total: BudgetLoss, neighbours: Neighbours | None = None, *, retired: bool = False) -> Account:
    return Account(Budget.of(total, neighbours or AddRemove("patient")), retired=retired)


@pytest.mark.parametrize("epsilon", ["0", "0.1", "0.5", "1", "3", "4.5"])
def test_bobs_guess_is_bounded_as_bayes_says(epsilon: str) -> None:
    limit = promise.limit_of("patient", Pure(epsilon), replaced=False)
    exactly = 1 / (1 + math.exp(-float(epsilon)))
    assert limit.chance == bound(Pure(epsilon))
    assert float(limit.chance) == pytest.approx(exactly, abs=1e-9)
    assert 100 * exactly <= int(promise.of_hundred(limit.chance)) < 100 * exactly + 1 + 1e-9
    assert limit.price == float(epsilon)


def test_nothing_is_ever_told_as_certain() -> None:
    assert promise.of_hundred(Fraction(99, 100)) == "99"
    assert {promise.of_hundred(Fraction(n, 1000)) for n in (991, 999, 1000)} == {"more than 99"}
    assert "100</strong> of" not in promise.text([promise.limit_of("x", Pure(1000), replaced=False)])


def test_a_budget_in_rho_is_told_by_the_price_with_the_same_best_guess() -> None:
    limit = promise.limit_of("x", Concentrated("0.1", "1e-9"), replaced=False)
    assert limit.chance >= bound(Concentrated("0.1"))
    assert 1 / (1 + math.exp(-limit.price)) >= limit.chance
    assert promise.limit_of("x", Concentrated(10**6), replaced=False).price > 100


@pytest.mark.parametrize(
    ("delta", "words"),
    [("0", "no exception"), ("1e-8", "one in 100,000,000,"), ("3e-7", "one in 3,300,000,"), ("0.4", "one in 2,")],
)
def test_delta_is_told_in_words_that_never_make_it_smaller(delta: str, words: str) -> None:
    assert words in promise.exception(Fraction(delta))


def test_strangers_read_the_worst_limit_of_all_without_a_name() -> None:
    homes = {"hiv": account(Pure(3)), "staff": account(Approximate(1, "1e-6"))}
    (limit,) = promise.widest(homes)
    assert (limit.name, limit.price, limit.delta, limit.replaced) == ("", 3, Fraction("1e-6"), False)
    assert "hiv" not in promise.page("auto", [limit])
    (mixed,) = promise.widest({**homes, "x": account(Pure(5), Replace("x"))})
    assert (mixed.price, mixed.replaced) == (6, True)  # removing and adding somebody of hiv costs twice 3
    assert promise.widest({}) == []


def test_names_are_text_and_closed_populations_come_last() -> None:
    limits = promise.limits_of({"a": account(Pure(1), retired=True), "<b>&": account(Pure(2))})
    assert [limit.name for limit in limits] == ["<b>&", "a"]
    text = promise.text(limits)
    assert "<b>&" not in text
    assert "The limit that holds for &lt;b&gt;&amp; is price 2." in text
    assert text.count("<option") == 2


def test_no_greek_letter_stands_outside_the_expert_panel() -> None:
    for limits in ([], [promise.limit_of("x", Concentrated("0.1", "1e-9"), replaced=True)]):
        outside = re.sub(r"<details.*?</details>", "", promise.text(limits), flags=re.DOTALL)
        assert not re.search("[α-ωΑ-Ω]|epsilon|delta|rho", re.sub(r'data-\w+="[^"]*"', "", outside))


def test_strangers_get_the_page_and_nothing_else(place: Place) -> None:
    said = place.server.call("GET", "/promise")
    text = said.body.decode()
    assert said.status == 200
    assert "set-cookie" not in said.headers
    assert "script-src 'self'; style-src 'self'" in said.headers["content-security-policy"]
    assert said.headers["cache-control"] == "no-store"
    assert "patient" not in text
    assert "visits" not in text
    assert "nicegui" not in text
    assert "no limit is above price" in text
