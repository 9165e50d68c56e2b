"""What the page of a survey rolls is the mechanism's law, exactly, and by the browser's own randomness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise

import pytest
from scipy.stats import chisquare
from server.conftest import People, Place, rolled

from discreet.local import OptimizedUnary, Response, SymmetricUnary, Unary
from discreet.mechanisms import RandomizedResponse
from discreet.server.http.dice import Dice

FALSE_ALARM = 1e-6
ROLLS = 8_000

CLIENTS = [
    Response(Fraction(1), 5),
    Response(RandomizedResponse.warner().epsilon, 2),
    Response(Fraction(1, 10), 3),
    Response(Fraction(20), 50),
    OptimizedUnary(Fraction(1), 5),
    OptimizedUnary(Fraction(1, 10**6), 9),
    SymmetricUnary(Fraction(2), 4),
]
_KEEPS = """
async ([dice, epsilon]) => {
  const { keeps, law } = await import("/survey/static/report.js");
  return dice.map((each) => keeps(law(each), epsilon));
}
"""


@pytest.mark.parametrize("client", [each for each in CLIENTS if isinstance(each, Response)], ids=repr)
def test_one_answer_is_rolled_with_the_clients_own_probabilities(
    place: Place, people: People, client: Response
) -> None:
    """A report is a step function of one uniform number: both ends of every step are rolled, and the steps measured."""
    person, dice = people(), Dice.of(client)
    person.page.goto(place.address(place.albums))
    cuts = [0, *(dice.holder + i * dice.other for i in range(client.choices))]
    assert cuts[-1] == 1 << dice.bits
    truths = range(client.choices) if client.choices <= 5 else (0, 17, 49)
    for truth in truths:
        low = rolled(person.page, dice, [([cut], truth) for cut in cuts[:-1]])
        high = rolled(person.page, dice, [([cut - 1], truth) for cut in cuts[1:]])
        assert low == high
        steps = [Fraction(b - a, 1 << dice.bits) for a, b in pairwise(cuts)]
        said = {int(client.decode(report)[0]): step for report, step in zip(low, steps, strict=True)}
        assert said == client.channel().rows[truth]


@pytest.mark.parametrize("client", [each for each in CLIENTS if isinstance(each, Unary)], ids=repr)
def test_a_set_is_rolled_with_the_clients_own_coins(place: Place, people: People, client: Unary) -> None:
    person, dice = people(), Dice.of(client)
    person.page.goto(place.address(place.albums))
    assert (Fraction(dice.holder, 1 << dice.bits), Fraction(dice.other, 1 << dice.bits)) == (
        client.odds.holder,
        client.odds.other,
    )
    for truth in range(client.choices):
        edges = [dice.holder if v == truth else dice.other for v in range(client.choices)]
        below, at = ([edge - 1 for edge in edges], truth), (edges, truth)
        mixed = [([edge - (v == one) for v, edge in enumerate(edges)], truth) for one in range(client.choices)]
        all_, none, *each = rolled(person.page, dice, [below, at, *mixed])
        assert all_ == ((1 << client.choices) - 1).to_bytes(len(all_), "little")
        assert none == bytes(len(none))
        assert each == [(1 << one).to_bytes(len(one_), "little") for one, one_ in enumerate(each)]


def test_the_page_knows_dice_that_hide_less_than_promised(place: Place, people: People) -> None:
    person = people()
    person.page.goto(place.address(place.albums))
    for client in CLIENTS:
        good = Dice.of(client).told()
        others = client.choices - 1 if isinstance(client, Response) else 0
        bare = {**good, "other": str(int(good["other"]) - 1), "holder": str(int(good["holder"]) + others)}
        loose = {**good, "holder": str(int(good["holder"]) + 1)}
        assert person.page.evaluate(_KEEPS, [[good, bare], str(client.epsilon)]) == [True, False]
        if isinstance(client, Response):  # probabilities that do not sum to 1
            assert person.page.evaluate(_KEEPS, [[loose], str(client.epsilon)]) == [False]


_DRIVEN = """
async ([dice, times, answer]) => {
  const { hex, law } = await import("/survey/static/report.js");
  const { Memory } = await import("/survey/static/memory.js");
  const found = [];
  for (let who = 0; who < times; who += 1) {
    const memory = new Memory({ survey: "s", asked: "a", digest: "00".repeat(32), who: String(who) });
    found.push(hex(memory.rolled(law(dice), answer)));
    localStorage.removeItem(memory.name);
  }
  return found;
}
"""


def believable(said: Counter[int], law: Mapping[int, Fraction]) -> bool:
    """Pearson's test: reports of this law fail it once in a million times."""
    total = sum(said.values())
    observed, expected = [said[v] for v in law], [total * float(p) for p in law.values()]
    return bool(chisquare(observed, expected).pvalue >= FALSE_ALARM)


def test_what_the_browser_draws_follows_the_law_and_no_other(place: Place, people: People) -> None:
    """By the page's own memory and the browser's own randomness: thousands of devices, one after another."""
    person, client, truth = people(), Response(Fraction(1), 5), 2
    person.page.goto(place.address(place.albums))
    reports = person.page.evaluate(_DRIVEN, [Dice.of(client).told(), ROLLS, truth])
    said = Counter(int(client.decode(bytes.fromhex(each))[0]) for each in reports)
    assert believable(said, client.channel().rows[truth])
    assert not believable(said, Response(Fraction(13, 10), 5).channel().rows[truth])
    assert not believable(said, Response(Fraction(7, 10), 5).channel().rows[truth])
    assert not believable(said, client.channel().rows[truth + 1])
