"""RAPPOR's client: its hash functions, its exact channel for one report and for several, its account over a life."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from doubles import Seeded
from local.laws import follows

from discreet.audit import enumerated
from discreet.errors import Refusal
from discreet.interval_arithmetic import exp, log
from discreet.local import described, rebuilt
from discreet.local.bloom import BitCounts, Bloom, Functions, written
from discreet.local.frequencies import Odds
from discreet.local.rappor import Rappor
from discreet.mechanisms import Pair
from discreet.privacy import Pure

LOST = Fraction(1, 10**9)  # of ε, to rounding
SMALL = Rappor(Fraction(2), 4, 1, 3, Fraction(1, 8), Fraction(7, 8))
TWO = Rappor.flipping("0.5", bits=4, hashes=2, cohorts=2)
TEXTS = ["a", "b", "c", "d", "e", "f", "g"]


def differing(client: Rappor, one: str, other: str, cohort: int) -> tuple[int, int]:
    """How many bits only one of two filters has, and only the other."""
    left, right = client.bloom.filters(client._truths(np.array([one, other], object)), np.array([cohort] * 2))
    return int((left & ~right).sum()), int((right & ~left).sum())


def test_the_parameters_of_chrome_lose_what_its_paper_says() -> None:
    """f = 1/2, p = 1/2, q = 3/4, h = 2: 4 ln 3 for ever, and 2 ln(q*(1 − p*) / (p*(1 − q*))) once."""
    client = Rappor.flipping("0.5", bits=16, hashes=2, cohorts=64)
    assert client.flipped == Fraction(1, 4)
    assert (client.odds.holder, client.odds.other) == (Fraction(11, 16), Fraction(9, 16))
    assert log(81).up <= client.epsilon < log(81).up + Fraction(1, 10**29)
    exact = log(Fraction(11 * 7, 9 * 5) ** 2)
    assert exact.up <= client.once.epsilon + Fraction(1, 10**40)
    assert client.once.epsilon <= exact.up + Fraction(1, 10**15)
    assert client.once <= client.privacy


@pytest.mark.parametrize("f", ["0.3", "0.5", "0.75", "0.999", Fraction(1, 3)])
@pytest.mark.parametrize("hashes", [1, 2, 5])
def test_the_permanent_price_is_not_below_the_exact_one_and_hardly_above(f: str | Fraction, hashes: int) -> None:
    client = Rappor.flipping(f, hashes=hashes)
    exact = ((1 - client.flipped) / client.flipped) ** (2 * hashes)
    assert exact <= exp(client.epsilon, 200).down
    assert log(exact).down > client.epsilon - LOST
    assert Fraction(f) / 2 <= client.flipped < Fraction(f) / 2 + Fraction(1, 1 << 64)


@pytest.mark.parametrize("epsilon", ["0.000001", "0.5", "3", "20"])
def test_given_a_price_bits_are_flipped_as_often_as_it_asks(epsilon: str) -> None:
    for hashes in (1, 2, 16):
        client = Rappor(Fraction(epsilon), hashes=hashes)
        exact = ((1 - client.flipped) / client.flipped) ** (2 * hashes)
        assert exact <= exp(client.epsilon, 200).down
        assert log(exact).down > client.epsilon - LOST
        assert client.once <= client.privacy


@pytest.mark.parametrize("client", [SMALL, TWO])
def test_the_exact_loss_of_one_report_for_every_pair_of_texts_in_every_cohort(client: Rappor) -> None:
    """By enumeration in rationals: q*/p* for each bit of one text alone, and (1 − p*)/(1 − q*) for the other's."""
    p, q = client.odds.other, client.odds.holder
    worst = Fraction(1)
    for cohort in range(client.cohorts):
        channel = client.channel([*TEXTS, None], cohort)
        for one, other in combinations(TEXTS, 2):
            mine, yours = differing(client, one, other, cohort)
            ratio = channel.ratio([(one, other)])
            both = (q / p) ** mine * ((1 - p) / (1 - q)) ** yours, (q / p) ** yours * ((1 - p) / (1 - q)) ** mine
            assert ratio == max(both)
            assert ratio <= exp(client.once.epsilon, 200).down
            worst = max(worst, ratio)
            nothing = channel.ratio([(one, None)])
            assert nothing is not None
            assert nothing <= exp(client.once.epsilon, 200).down
        assert enumerated(channel, [Pair("a", "b", "two texts")], client.once).kept
    assert log(worst).down > client.once.epsilon - LOST  # some pair has no bit in common
    assert all(p.denominator & (p.denominator - 1) == 0 for row in channel.rows.values() for p in row.values())


@pytest.mark.parametrize("reports", [2, 3])
def test_several_reports_lose_more_than_one_and_never_more_than_the_permanent_response(reports: int) -> None:
    """The longitudinal pair: one person with one text, or another, who reports again and again."""
    client = Rappor(Fraction(2), 4, 1, 3, Fraction(1, 8), Fraction(7, 8))
    if reports == 3:
        client = Rappor(Fraction(2), 3, 1, 3, Fraction(1, 8), Fraction(7, 8))
    apart = next((a, b) for a, b in combinations(TEXTS, 2) if differing(client, a, b, 0) == (1, 1))
    exact = enumerated(client.channel(apart, 0, reports), [Pair(*apart, "one text, or another")], client.privacy)
    assert exact.kept
    assert exact.epsilon is not None
    assert client.once.epsilon + Fraction(1, 10) < exact.epsilon.down
    assert exact.epsilon.up <= client.epsilon
    fewer = enumerated(client.channel(apart, 0, reports - 1), [Pair(*apart, "one text, or another")])
    assert fewer.epsilon is not None
    assert fewer.epsilon.up < exact.epsilon.down
    assert enumerated(client.channel(apart, 0, reports), [Pair(*apart, "")], client.once).kept is False


def test_reports_without_coins_of_their_own_lose_the_whole_price_at_once() -> None:
    client = Rappor(Fraction(2), 4, 1, 3, quiet=Fraction(0), loud=Fraction(1))
    assert client.once == client.privacy
    apart = next((a, b) for a, b in combinations(TEXTS, 2) if differing(client, a, b, 0) == (1, 1))
    ratio = client.channel(apart).ratio([apart])
    assert ratio is not None
    assert client.epsilon - LOST < log(ratio).down
    assert ratio <= exp(client.epsilon, 200).down


@pytest.mark.parametrize("hashes", [1, 2])
def test_one_bit_is_audited_on_a_text_and_nothing(hashes: int) -> None:
    """All texts set it, so a pair of texts would show nothing, whatever the client did."""
    client = Rappor(Fraction(2), 1, hashes, 3, quiet=Fraction(0), loud=Fraction(1))
    pair = client.pairs()[0]
    law = client.channel([pair.left, pair.right])
    ratio = law.ratio([(pair.left, pair.right)])
    assert ratio is not None
    assert ratio == (1 - client.flipped) / client.flipped
    assert ratio <= exp(client.epsilon, 200).down


def test_pairs_differ_in_what_is_reported() -> None:
    for client in (SMALL, TWO, Rappor(Fraction(1), 1), Rappor(Fraction(1), 2, 4, 1), Rappor(Fraction(1))):
        digests = client._truths(np.array([client.pairs()[0].left, client.pairs()[0].right], object))
        assert any(
            np.diff(client.bloom.filters(digests, np.full(2, j)).astype(int), axis=0).any()
            for j in range(client.cohorts)
        )


def test_every_different_text_of_a_life_costs_the_price_anew() -> None:
    assert SMALL.longitudinal([]) == Pure(0)
    assert SMALL.longitudinal(["home"] * 365) == Pure(2)
    assert SMALL.longitudinal(["home", "work", "home", b"home", None]) == Pure(6)
    assert SMALL.longitudinal([7, "7"]) == Pure(2)  # they are hashed alike


def test_two_texts_one_after_another_lose_twice_and_the_change_itself_shows() -> None:
    """Exactly: the same pattern of change costs 2 ε; against no change at all, more than any multiple that d gives."""
    client = Rappor(Fraction(1), 4, 1, 1, quiet=Fraction(0), loud=Fraction(1))
    one, other = next((a, b) for a, b in combinations(TEXTS, 2) if differing(client, a, b, 0) == (1, 1))
    law = client.channel([one, other])
    twice = law.beside(law)
    ratio = twice.ratio([(one, other)])
    assert ratio is not None
    assert 2 * client.epsilon - LOST < log(ratio).down
    assert ratio <= exp(2 * client.epsilon, 200).down
    back = {(y, z, y): p for (y, z), p in twice[one].items()}  # home, away, home: the third report is the first
    third = {(y, z, x): p * q for (y, z), p in twice[one].items() for x, q in law[other].items()}
    assert any(p > 0 and y not in back for y, p in third.items())  # lives that change as often, but never go back
    kept, changed = client.channel([one], 0, 2)[one], twice[one]  # two reports of one response, and of two
    assert any(p > 0 and kept.get(y, 0) == 0 for y, p in changed.items())  # two different reports: a change, surely


@pytest.mark.parametrize("client", [SMALL, TWO])
def test_reports_follow_the_channel_alone_and_together(client: Rappor) -> None:
    rng = Seeded(3)
    cohorts = range(client.cohorts)
    law = {
        (cohort, said): p / client.cohorts
        for cohort in cohorts
        for said, p in client.channel(["c"], cohort)["c"].items()
    }
    alone = [tuple(client("c", rng=rng)) for _ in range(4000)]  # a byte for the cohort, one for the bits
    together = [tuple(row) for row in client.decode(client.encode(client.sample("c", 40_000, rng=rng))).tolist()]
    assert follows(alone, law)
    assert follows(together, law)
    for text in (t for t in TEXTS if any(differing(client, "c", t, cohort) != (0, 0) for cohort in cohorts)):
        wrong = {
            (cohort, said): p / client.cohorts
            for cohort in cohorts
            for said, p in client.channel([text], cohort)[text].items()
        }
        assert not follows(together, wrong)


def test_bit_counts_are_unbiased_exactly() -> None:
    """Every report of the channel goes through wire, tally and estimator, weighed with its probability."""
    for text in (*TEXTS, None):
        true = SMALL.bloom.filters(SMALL._truths(np.array([text], object)), np.array([2]))[0]
        mean = np.zeros(4)
        for said, p in SMALL.channel([text], 2)[text].items():
            guess = SMALL.estimate(SMALL.tally(bytes([2, int(said)])))  # type: ignore[call-overload]
            assert guess.reports.tolist() == [0, 0, 1]
            mean += float(p) * guess.counts[2]
        assert mean == pytest.approx(true.astype(float), abs=1e-12)


@pytest.mark.parametrize(
    ("row", "people"),
    [([5, 9, 0, 0, 0], 15), ([5, -1, 0, 0, 0], 15), ([-5, -5, -5, -5, -5], 15), ([0, 0, 0, 0, 0], 9), ([5] * 5, 14)],
)
def test_a_tally_that_no_reports_add_up_to_is_refused(row: list[int], people: int) -> None:
    whole = SMALL.tally(SMALL.batch(["a"] * 15, rng=Seeded(9)))
    assert SMALL.estimate(whole).people == 15
    with pytest.raises(Refusal, match=f"no {people} reports add up to this tally"):
        SMALL.estimate(replace(whole, people=people, counts=np.array([row] * 3).ravel()))


def test_bit_counts_have_the_standard_errors_of_their_coins() -> None:
    """Of 400 filters none has the first bit, all have the second and half the third: coins of 1/4, of 1/2, and of each.

    Beyond what coins can do, as at none or at all of them.
    """
    guess = BitCounts(np.array([400]), np.array([[100, 200, 150, 90, 210]]), Odds(Fraction(1, 2), Fraction(1, 4)))
    assert guess.counts.tolist() == [[0, 400, 200, -40, 440]]
    ones = [400 * 3 / 16, 400 / 4, 200 * 3 / 16 + 200 / 4, 400 * 3 / 16, 400 / 4]  # variances of what was told
    assert (guess.errors[0] ** 2 / 16).tolist() == pytest.approx(ones)
    told = SMALL.estimate(SMALL.tally(SMALL.sample("c", 90, rng=Seeded(1))))
    assert (told.odds, told.people) == (SMALL.odds, 90)


def test_hash_functions_reach_every_cell_alike_and_have_no_remainder() -> None:
    """With 3 cells a lane's two bits name none in a quarter of all attempts; with 5, in three of eight."""
    for cells in (1, 2, 3, 5, 128):
        functions = Functions(cells, 9)
        digests = functions.digests([str(i).encode() for i in range(3000)])
        table = functions.table(digests, 21)
        even = {cell: Fraction(1, cells) for cell in range(cells)}
        assert follows(table.ravel().tolist(), even) or cells == 1
        assert int(table.max()) == cells - 1
        assert [functions.cell(digests[i].tobytes(), j) for i in range(40) for j in range(21)] == table[
            :40
        ].ravel().tolist()
        assert functions.table(digests[:9], 7, 11).tolist() == table[:9, 11:18].tolist()


def test_functions_and_keys_are_independent_of_each_other() -> None:
    digests = Functions(4, 1).digests([str(i).encode() for i in range(4000)])
    table = Functions(4, 1).table(digests, 16)
    pairs = {(a, b): Fraction(1, 16) for a in range(4) for b in range(4)}
    for i, j in ((0, 1), (0, 8), (7, 8), (3, 15)):
        assert follows(zip(table[:, i].tolist(), table[:, j].tolist(), strict=True), pairs)
    other = Functions(4, 2)
    fresh = other.table(other.digests([str(i).encode() for i in range(4000)]), 1)
    assert follows(zip(table[:, 0].tolist(), fresh[:, 0].tolist(), strict=True), pairs)


def test_a_hash_never_changes() -> None:
    """These are in other people's hands: a new version must place the same text at the same bits."""
    functions = Functions(128, 5)
    assert [functions.cell(functions.digest(b"discreet"), i) for i in range(6)] == GOLDEN


GOLDEN = [75, 29, 17, 41, 77, 13]


def test_what_is_hashed_of_a_value() -> None:
    assert [written(value) for value in ("é", b"\xff", 7, np.int64(-7), True, "", 3.0)] == [
        "é".encode(), b"\xff", b"7", b"-7", b"1", b"", b"3",
    ]  # fmt: skip
    assert [written(value) for value in (None, 1.5, Fraction(1, 3), [1], 1 << 63, np.timedelta64(1, "s"))] == [None] * 6
    assert written("\ud800") == b"\xed\xa0\x80"


def test_nothing_sets_no_bit_and_a_text_at_most_as_many_as_there_are_hashes() -> None:
    bloom = Bloom(8, 3, 5, 1)
    digests = bloom.digests(np.array([None, "", "x", 1.5], object))
    sizes = [bloom.filters(digests, np.full(4, cohort)).sum(axis=1).tolist() for cohort in range(5)]
    assert all(row[0] == row[3] == 0 and 1 <= row[1] <= 3 and 1 <= row[2] <= 3 for row in sizes)
    places = bloom.places(digests[2:3])[0]
    for cohort in range(5):
        own = {int(place) - 8 * cohort for place in places[3 * cohort : 3 * cohort + 3]}
        assert set(np.flatnonzero(bloom.filters(digests[2:3], np.array([cohort]))[0]).tolist()) == own


def test_probabilities_are_put_on_the_grid_on_the_private_side_and_stay_there() -> None:
    client = Rappor(Fraction(1), quiet=Fraction(1, 3), loud=Fraction(2, 3))
    assert Fraction(1, 3) < client.quiet < Fraction(1, 3) + Fraction(1, 1 << 64)
    assert Fraction(2, 3) - Fraction(1, 1 << 64) < client.loud < Fraction(2, 3)
    sent = described(client)
    assert rebuilt(sent["name"], sent["parameters"]) == client
    assert described(rebuilt(sent["name"], sent["parameters"])) == sent


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"bits": 0}, "bits"),
        ({"bits": 5000}, "expected bits <= 4096"),
        ({"hashes": 17}, "expected hashes <= 16"),
        ({"cohorts": 0}, "cohorts"),
        ({"quiet": "0.75"}, "expected quiet < loud"),
        ({"quiet": -1}, "quiet"),
        ({"loud": 2}, "loud"),
        ({"key": -1}, "key"),
        ({"key": 1 << 128}, "key < 2\\^128"),
    ],
)
def test_nonsense_is_refused_by_name(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        Rappor(Fraction(1), **wrong)  # type: ignore[arg-type]
    for f in (0, 1, "1.5"):
        with pytest.raises(Refusal, match="f"):
            Rappor.flipping(f)


def test_a_channel_is_of_a_cohort_that_there_is() -> None:
    for wrong in (-1, 3):
        with pytest.raises(Refusal, match="cohort"):
            SMALL.channel(["a"], wrong)


def test_a_channel_of_many_bits_is_not_written_down() -> None:
    with pytest.raises(Refusal, match="is not written down"):
        Rappor(Fraction(1)).channel(["a"])
    with pytest.raises(Refusal, match="is not written down"):
        SMALL.channel(["a"], 0, 5)
