"""What the page of a survey rolls is the mechanism's law, exactly, and by the browser's own randomness."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import prod

import pytest
from mechanisms.chances import fits
from playwright.sync_api import Browser, Page
from server.conftest import People, Place, rolled

from discreet.desk.surveys import guessed
from discreet.local import OptimizedUnary, Response, SymmetricUnary, Unary
from discreet.mechanisms import RandomizedResponse
from discreet.server.http.survey_pages import Dice

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


@pytest.fixture(scope="module")
def page(place: Place, chromium: Browser) -> Iterator[Page]:
    """The page of a survey, for tests that change nothing of it."""
    with chromium.new_context() as context:
        found, complaints = context.new_page(), list[str]()
        found.on("console", lambda said: complaints.append(said.text))
        found.on("pageerror", lambda broken: complaints.append(str(broken)))
        found.goto(place.address(place.albums))
        yield found
        assert complaints == []


@pytest.mark.parametrize("client", [each for each in CLIENTS if isinstance(each, Response)], ids=repr)
def test_one_answer_is_rolled_with_the_clients_own_probabilities(page: Page, client: Response) -> None:
    """A report is a step function of one uniform number: both ends of every step are rolled, and the steps measured."""
    dice = Dice.of(client)
    cuts = [0, *(dice.holder + i * dice.other for i in range(client.choices))]
    assert cuts[-1] == 1 << dice.bits
    truths = range(client.choices) if client.choices <= 5 else (0, 17, 49)
    for truth in truths:
        low = rolled(page, dice, [([cut], truth) for cut in cuts[:-1]])
        high = rolled(page, dice, [([cut - 1], truth) for cut in cuts[1:]])
        assert low == high
        steps = [Fraction(b - a, 1 << dice.bits) for a, b in pairwise(cuts)]
        said = {int(client.decode(report)[0]): step for report, step in zip(low, steps, strict=True)}
        assert said == client.channel().rows[truth]


@pytest.mark.parametrize("client", [each for each in CLIENTS if isinstance(each, Unary)], ids=repr)
def test_a_set_is_rolled_with_the_clients_own_coins(page: Page, client: SymmetricUnary | OptimizedUnary) -> None:
    dice = Dice.of(client)
    assert (Fraction(dice.holder, 1 << dice.bits), Fraction(dice.other, 1 << dice.bits)) == (
        client.odds.holder,
        client.odds.other,
    )
    for truth in range(client.choices):
        edges = [dice.holder if v == truth else dice.other for v in range(client.choices)]
        below, at = ([edge - 1 for edge in edges], truth), (edges, truth)
        mixed = [([edge - (v == one) for v, edge in enumerate(edges)], truth) for one in range(client.choices)]
        all_, none, *each = rolled(page, dice, [below, at, *mixed])
        assert all_ == ((1 << client.choices) - 1).to_bytes(len(all_), "little")
        assert none == bytes(len(none))
        assert each == [(1 << one).to_bytes(len(one_), "little") for one, one_ in enumerate(each)]


_OFF_LIST = """
async ([dice, answers]) => {
  const { coinsNeeded, law, report } = await import("/survey/static/report.js");
  const rule = law(dice);
  return answers.map((answer) => {
    try { return report(rule, new Uint8Array(coinsNeeded(rule)), answer).length; } catch (no) { return no.message; }
  });
}
"""


@pytest.mark.parametrize("client", [Response(Fraction(1), 5), OptimizedUnary(Fraction(1), 5)], ids=repr)
def test_nothing_is_rolled_for_an_answer_that_is_not_on_the_list(page: Page, client: Response) -> None:
    """It was once rolled as if it were the first."""
    wrong: list[object] = [5, -1, 0.5, "1", "x", None]
    told = page.evaluate(_OFF_LIST, [Dice.of(client).told(), [*wrong, 0, 4]])
    assert told == ["no answer of this survey"] * len(wrong) + [1, 1]


def test_the_page_knows_dice_that_hide_less_than_promised(page: Page) -> None:
    for client in CLIENTS:
        good = Dice.of(client).told()
        others = client.choices - 1 if isinstance(client, Response) else 0
        bare = {**good, "other": str(int(good["other"]) - 1), "holder": str(int(good["holder"]) + others)}
        loose = {**good, "holder": str(int(good["holder"]) + 1)}
        assert page.evaluate(_KEEPS, [[good, bare], str(client.epsilon)]) == [True, False]
        if isinstance(client, Response):  # probabilities that do not sum to 1
            assert page.evaluate(_KEEPS, [[loose], str(client.epsilon)]) == [False]


_GUESSES = """
async (dice) => {
  const { bestGuess, law } = await import("/survey/static/report.js");
  return dice.map((each) => bestGuess(law(each)));
}
"""


def test_the_guess_that_is_told_is_rounded_against_us(page: Page) -> None:
    told = page.evaluate(_GUESSES, [Dice.of(client).told() for client in CLIENTS])
    for found, client in zip(told, CLIENTS, strict=True):
        odds = client.odds
        ratio = odds.holder / odds.other
        if isinstance(client, Unary):
            ratio *= (1 - odds.other) / (1 - odds.holder)
        assert found - 1 < 100 * ratio / (1 + ratio) <= found <= guessed(client.epsilon)


# Every random word that there is, once each, through the page's own `rolled` and `crypto.getRandomValues`.
_EXHAUSTED = """
async ([dice, size]) => {
  const { hex, law } = await import("/survey/static/report.js");
  const { rolled } = await import("/survey/static/memory.js");
  const rule = law(dice);
  const found = Array.from({ length: rule.choices }, () => ({}));
  let word = 0;
  crypto.getRandomValues = (array) => {
    if (array.length !== size) throw new Error("another number of coins");
    array.forEach((_, i) => { array[i] = Math.floor(word / 256 ** i) % 256; });
    return array;
  };
  for (word = 0; word < 256 ** size; word += 1) {
    found.forEach((said, truth) => {
      const report = hex(rolled(rule, truth));
      said[report] = (said[report] ?? 0) + 1;
    });
  }
  return found;
}
"""


_GRIDS = [
    (Dice("one", 5, 8, 104, 38), 1),  # 104 + 4 · 38 = 256
    (Dice("one", 2, 5, 21, 11), 1),  # three bits of every byte are not used
    (Dice("set", 2, 8, 128, 69), 2),
]


def _coins(chances: Sequence[Fraction], said: int) -> Iterator[Fraction]:
    yield from (p if said >> v & 1 else 1 - p for v, p in enumerate(chances))


def law_of(dice: Dice, truth: int) -> dict[int, Fraction]:
    """The probability of every report, from the meaning of the dice alone."""
    own, other = (Fraction(each, 1 << dice.bits) for each in (dice.holder, dice.other))
    chances = [own if v == truth else other for v in range(dice.choices)]
    if dice.kind == "one":
        return dict(enumerate(chances))
    sets = range(1 << dice.choices)
    return {said: prod(_coins(chances, said), start=Fraction(1)) for said in sets}


def test_all_random_words_together_are_the_law_exactly(place: Place, people: People) -> None:
    person = people()
    person.page.goto(place.address(place.albums))
    for dice, size in _GRIDS:
        for truth, counts in enumerate(person.page.evaluate(_EXHAUSTED, [dice.told(), size])):
            words = {int.from_bytes(bytes.fromhex(report), "little"): n for report, n in counts.items()}
            assert {said: Fraction(n, 256**size) for said, n in words.items()} == law_of(dice, truth)


_DRIVEN = """
async ([dice, times, answer]) => {
  const { hex, law } = await import("/survey/static/report.js");
  const { rolled } = await import("/survey/static/memory.js");
  return Array.from({ length: times }, () => hex(rolled(law(dice), answer)));
}
"""


def test_what_the_browser_draws_follows_the_law_and_no_other(page: Page) -> None:
    """By the browser's own randomness, as on thousands of devices: by exact tails at 1e-9."""
    client, truth = Response(Fraction(1), 5), 2
    reports = page.evaluate(_DRIVEN, [Dice.of(client).told(), ROLLS, truth])
    said = [int(client.decode(bytes.fromhex(each))[0]) for each in reports]

    def believable(other: Response, value: int) -> bool:
        return fits(said, {v: float(p) for v, p in other.channel().rows[value].items()})

    assert believable(client, truth)
    assert not believable(Response(Fraction(13, 10), 5), truth)
    assert not believable(Response(Fraction(7, 10), 5), truth)
    assert not believable(client, truth + 1)
